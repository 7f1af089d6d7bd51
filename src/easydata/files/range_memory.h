#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>

#include "easydata/base/status.h"

namespace easydata::files {

/// Bytes that may be read after each range, so that vectorised parsers need no copy.
inline constexpr int64_t kRangePadding = 64;

/// Memory for a range of a file, and its padding, which is used again when nobody holds it any
/// more. The system clears new memory page by page, which costs half as much as fetching into it
/// does.
///
/// Up to `kMostIdleBytes` are kept for the process. Thread-safe.
Result<std::shared_ptr<arrow::Buffer>> TakeRangeMemory(int64_t size);

inline constexpr int64_t kMostIdleBytes = int64_t{64} << 20;

/// Bytes that are kept now.
int64_t IdleRangeBytes();

}  // namespace easydata::files
