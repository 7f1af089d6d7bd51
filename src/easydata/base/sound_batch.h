#pragma once

#include <arrow/type_fwd.h>

#include "easydata/base/status.h"

namespace easydata {

/// Checks all that is taken for granted of a batch later (offsets, indices into dictionaries,
/// lengths, nested text), before anything of it is used. Columns of text count as bytes here:
/// whether they are UTF-8 is checked by rows.
Status CheckSoundBatch(const arrow::RecordBatch& batch);

}  // namespace easydata
