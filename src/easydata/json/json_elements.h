#pragma once

#include <arrow/type_fwd.h>
#include <simdjson.h>

#include <cstdint>
#include <string>
#include <vector>

#include "easydata/json/json_parse.h"

namespace easydata::json {

/// The values of a column of JSON text, parsed together and once: for what learns their shape,
/// makes columns of them, or rows of Python. For one thread; the next texts use the same memory.
class JsonElements {
 public:
  /// Parses the texts of a column. False where that cannot be done with all of them together: each
  /// by itself then tells which is wrong, and how.
  bool Parse(const arrow::StringArray& texts);

  /// Whether some are numbers without a JSON form (json_parse.h).
  bool has_special_numbers() const { return parser_.has_special_numbers(); }

  /// The value of a slot that is not null; lives until the next Parse().
  const simdjson::dom::element& operator[](int64_t i) const { return elements_[i]; }

 private:
  std::string joined_;
  JsonParser parser_;
  std::vector<simdjson::dom::element> elements_;
};

}  // namespace easydata::json
