#include "easydata/json/bounded_json.h"

#include <algorithm>

namespace easydata::json {
namespace {

struct JsonExtent {
  int depth = 0;
  size_t values = 1;
};

/// At least the depth and number of values that a parser would find, whatever the text is.
JsonExtent ExtentOf(std::string_view text) {
  JsonExtent out;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      out.depth = std::max(out.depth, ++depth);
      ++out.values;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',') {
      ++out.values;
    }
  }
  return out;
}

}  // namespace

Result<nlohmann::json> ParseBoundedJson(std::string_view text, const JsonBounds& bounds) {
  const JsonExtent extent = ExtentOf(text);
  if (extent.depth > bounds.depth) {
    return Status::CapacityError("is JSON nested deeper than ", bounds.depth, " levels");
  }
  if (extent.values > bounds.values) {
    return Status::CapacityError("is JSON of more than ", bounds.values, " values");
  }
  auto value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return Status::Invalid("is not JSON");
  return value;
}

bool IsBeyondBounds(const Status& status) { return status.IsCapacityError(); }

}  // namespace easydata::json
