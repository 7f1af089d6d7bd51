#pragma once

#include <string>

#include "easydata/base/status.h"
#include "easydata/io/file_system.h"
#include "easydata/io/positioned_file.h"

namespace easydata::source {

/// Joins the lines of a library's message to one.
inline std::string OneLine(const std::string& message) {
  std::string line;
  for (char c : message.substr(0, message.find_last_not_of('\n') + 1)) {
    line += c == '\n' ? ' ' : c;
  }
  return line;
}

/// Whether an error is about a file's content: not about reading it, memory or cancellation, which
/// stay as they are.
inline bool IsOfContent(const Status& cause) {
  return !io::IsFileError(cause) && !cause.IsOutOfMemory() && !cause.IsCancelled();
}

/// Makes the error of a file that cannot be opened as its kind: "Parquet file", ...
inline Status NotWhole(const std::string& path, const std::string& kind, const Status& cause) {
  if (!IsOfContent(cause)) return cause;
  return Status::IOError(path, " is not a whole ", kind, " (", OneLine(cause.message()),
                         "); it may be cut short or of another kind: get it again, or take it out");
}

/// Reads a part of a file by `read()`, once more where it turns out to be damaged and the file is
/// on another machine: that may have come on the way.
template <typename Read>
auto ReadTwiceIfDamaged(arrow::io::RandomAccessFile* file, Read read) -> decltype(read()) {
  auto result = read();
  if (result.ok() || !IsOfContent(result.status()) || !io::IsWorthReadingAgain(file)) return result;
  return read();
}

/// Makes the error of a part of an open file that cannot be read.
inline Status Damaged(const std::string& part, const Status& cause) {
  if (cause.IsOutOfMemory()) return cause.WithMessage(part, ": ", OneLine(cause.message()));
  if (!IsOfContent(cause)) return cause;
  return Status::IOError(part, " cannot be read (", OneLine(cause.message()),
                         "); the file is damaged or cut short: get it again, or take it out");
}

}  // namespace easydata::source
