#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>

#include "easydata/base/status.h"
#include "easydata/cache/token_file.h"

namespace easydata::cache {

/// Bytes compressed; null where that makes them not smaller, and for kNone.
Result<std::shared_ptr<arrow::Buffer>> CompressPart(Compression compression, const uint8_t* bytes,
                                                    int64_t size);

/// Decompresses to exactly `raw_size` bytes at `to`; Invalid where they are more or fewer.
Status DecompressPart(Compression compression, const uint8_t* bytes, int64_t size, int64_t raw_size,
                      uint8_t* to);

}  // namespace easydata::cache
