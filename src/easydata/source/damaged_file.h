#pragma once

#include <string>

#include "easydata/base/status.h"
#include "easydata/io/file_system.h"

namespace easydata {

/// A message that libraries spread over several lines, as one.
inline std::string OneLine(const std::string& message) {
  std::string line;
  for (char c : message.substr(0, message.find_last_not_of('\n') + 1)) {
    line += c == '\n' ? ' ' : c;
  }
  return line;
}

/// Whether an error comes of what a file holds: not of reading it, of memory or of its being
/// cancelled, which stay as they are.
inline bool IsOfContent(const Status& cause) {
  return !IsFileError(cause) && !cause.IsOutOfMemory() && !cause.IsCancelled();
}

/// What is said of a file that cannot be opened as what its kind is: "Parquet file", ...
inline Status NotWhole(const std::string& path, const std::string& kind, const Status& cause) {
  if (!IsOfContent(cause)) return cause;
  return Status::IOError(path, " is not a whole ", kind, " (", OneLine(cause.message()),
                         "); it may be cut short or of another kind: get it again, or take it out");
}

/// What is said of a part of an open file that cannot be read.
inline Status Damaged(const std::string& part, const Status& cause) {
  if (cause.IsOutOfMemory()) return cause.WithMessage(part, ": ", OneLine(cause.message()));
  if (!IsOfContent(cause)) return cause;
  return Status::IOError(part, " cannot be read (", OneLine(cause.message()),
                         "); the file is damaged or cut short: get it again, or take it out");
}

}  // namespace easydata
