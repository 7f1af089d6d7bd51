#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace easydata::source {

/// Tells rows of JSON apart by the fields that they have, at a glance: nothing is parsed or checked
/// but where fields begin and end.
class JsonForms {
 public:
  /// Whether a row has other fields than all rows before it, or others of which hold null, or
  /// nothing but blank text or an empty list or object. True of what is no JSON object, too.
  bool IsNew(std::string_view row);

 private:
  std::unordered_set<std::string> known_;
  std::string form_;  // of the row at hand
};

}  // namespace easydata::source
