#pragma once

#include <arrow/util/compression.h>

#include <cstdint>
#include <memory>

#include "easydata/base/status.h"

namespace easydata::files {

/// Makes a decoder of zstd frames, one after the other, with windows of up to so many bytes, by the
/// system's libzstd. NotImplemented, saying how to get it, where that is not there.
Result<std::shared_ptr<arrow::util::Decompressor>> MakeZstdDecoder(int64_t max_window);

}  // namespace easydata::files
