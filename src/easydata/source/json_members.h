#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/source/record_reader.h"

namespace easydata::source {

/// Walks through the members of the object that a file of JSON is, of which one is a list of rows.
/// Values that are passed over take no memory, however large they are.
class JsonMembers {
 public:
  /// `window` begins where the walk does, and is left where it ends.
  explicit JsonMembers(TextWindow* window) : window_(window) {}

  /// Goes from the file's begin to the '[' of the member `name`.
  Status FindList(const std::string& name);

  /// Goes from behind that list's ']' to the file's end. Invalid where the object does not end
  /// there, or has another member of that name.
  Status Finish(const std::string& name);

  /// Lines that were passed over.
  int64_t lines() const { return lines_; }

 private:
  /// The next character that is no white space; '\0' at the file's end.
  Result<char> Peek();
  void Take(int64_t bytes);
  /// Takes a name and the ':' behind it.
  Result<std::string> TakeName();
  Status SkipValue();
  Status Cut() const;

  TextWindow* const window_;
  int64_t lines_ = 0;
};

}  // namespace easydata::source
