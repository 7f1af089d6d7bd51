#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::json {

/// Parses JSON as Python's json module does: NaN, Infinity and -Infinity are numbers. For one
/// thread; the element lives until the next call.
class JsonParser {
 public:
  /// `is_padded`: SIMDJSON_PADDING bytes behind the text can be read, so that it is not copied.
  Result<simdjson::dom::element> Parse(std::string_view json, bool is_padded = false);
  /// Whether the last text had numbers without a JSON form.
  bool has_special_numbers() const { return has_special_numbers_; }

 private:
  simdjson::dom::parser parser_;
  std::string rewritten_;
  bool has_special_numbers_ = false;
};

/// Whether an element is a number without a JSON form, which JsonParser gives as a string that no
/// text can hold; sets `value`.
bool IsSpecialNumber(simdjson::dom::element element, double* value);

}  // namespace easydata::json
