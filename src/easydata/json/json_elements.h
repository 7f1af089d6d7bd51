#pragma once

#include <arrow/type_fwd.h>
#include <simdjson.h>

#include <cstdint>
#include <vector>

#include "easydata/json/json_parse.h"

namespace easydata::json {

/// The values of a column of JSON text, parsed together and once: for what learns their shape and
/// makes columns of them. For one thread.
class JsonElements {
 public:
  /// Parses the texts of a column. False where that cannot be done with all of them together: each
  /// by itself then tells which is wrong, and how.
  bool Parse(const arrow::StringArray& texts);

  /// The value of a slot that is not null; lives until the next Parse().
  const simdjson::dom::element& operator[](int64_t i) const { return elements_[i]; }

 private:
  JsonParser parser_;
  std::vector<simdjson::dom::element> elements_;
};

}  // namespace easydata::json
