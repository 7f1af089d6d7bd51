#pragma once

#include <string>

#include "easydata/base/status.h"

namespace easydata {

/// A message that libraries spread over several lines, as one.
inline std::string OneLine(const std::string& message) {
  std::string line;
  for (char c : message.substr(0, message.find_last_not_of('\n') + 1)) {
    line += c == '\n' ? ' ' : c;
  }
  return line;
}

/// What is said of a file that cannot be opened as what its kind is: "Parquet file", ...
inline Status NotWhole(const std::string& path, const std::string& kind, const Status& cause) {
  return Status::IOError(path, " is not a whole ", kind, " (", OneLine(cause.message()),
                         "); it may be cut short or of another kind: get it again, or take it out");
}

/// What is said of a part of an open file that cannot be read; errors that do not come from the
/// file's content, such as a cancelled read, stay as they are.
inline Status Damaged(const std::string& part, const Status& cause) {
  if (!cause.IsIOError() && !cause.IsInvalid() && !cause.IsSerializationError()) return cause;
  return Status::FromDetailAndArgs(arrow::StatusCode::IOError, cause.detail(), part,
                                   " cannot be read (", OneLine(cause.message()),
                                   "); the file is damaged or cut short: get it again, or take it "
                                   "out");
}

}  // namespace easydata
