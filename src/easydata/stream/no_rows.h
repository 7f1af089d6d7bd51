#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "easydata/base/status.h"

namespace easydata {

/// Makes a batch without rows, of any type: arrow::RecordBatch::MakeEmpty() knows none of some,
/// such as dictionaries of structs.
Result<std::shared_ptr<arrow::RecordBatch>> NoRows(const std::shared_ptr<arrow::Schema>& schema);

}  // namespace easydata
