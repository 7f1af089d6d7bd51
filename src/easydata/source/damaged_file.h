#pragma once

#include <string>

#include "easydata/base/status.h"
#include "easydata/files/damaged_read.h"

namespace easydata::source {

/// Joins the lines of a library's message to one.
inline std::string OneLine(const std::string& message) {
  std::string line;
  for (char c : message.substr(0, message.find_last_not_of('\n') + 1)) {
    line += c == '\n' ? ' ' : c;
  }
  return line;
}

/// Makes the error of a file that cannot be opened as its kind: "Parquet file", ...
inline Status NotWhole(const std::string& path, const std::string& kind, const Status& cause) {
  if (!files::IsOfContent(cause)) return cause;
  return Status::IOError(path, " is not a whole ", kind, " (", OneLine(cause.message()),
                         "); it may be cut short or of another kind: get it again, or take it out");
}

/// Makes the error of a part of an open file that cannot be read.
inline Status Damaged(const std::string& part, const Status& cause) {
  if (cause.IsOutOfMemory()) return cause.WithMessage(part, ": ", OneLine(cause.message()));
  if (!files::IsOfContent(cause)) return cause;
  return Status::IOError(part, " cannot be read (", OneLine(cause.message()),
                         "); the file is damaged or cut short: get it again, or take it out");
}

}  // namespace easydata::source
