#pragma once

#include "easydata/base/status.h"
#include "easydata/files/file_system.h"
#include "easydata/files/positioned_file.h"

namespace easydata::files {

/// Whether an error is about a file's content: not about reading it, memory or cancellation, which
/// stay as they are.
inline bool IsOfContent(const Status& cause) {
  return !IsFileError(cause) && !cause.IsOutOfMemory() && !cause.IsCancelled();
}

/// Reads a part of a file by `read()`, once more where it turns out to be damaged and the file is
/// on another machine: that may have come on the way.
template <typename Read>
auto ReadTwiceIfDamaged(arrow::io::RandomAccessFile* file, Read read) -> decltype(read()) {
  auto result = read();
  const bool is_damaged = !result.ok() && IsOfContent(result.status()) &&
                          !result.status().IsNotImplemented();  // which is no damage
  if (!is_damaged || !IsWorthReadingAgain(file)) return result;
  return read();
}

}  // namespace easydata::files
