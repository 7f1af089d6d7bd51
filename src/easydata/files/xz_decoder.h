#pragma once

#include <arrow/util/compression.h>

#include <memory>

#include "easydata/base/status.h"

namespace easydata::files {

/// Makes a decoder of .xz streams, one after the other, by the system's liblzma. NotImplemented,
/// saying how to get it, where that is not there.
Result<std::shared_ptr<arrow::util::Decompressor>> MakeXzDecoder();

}  // namespace easydata::files
