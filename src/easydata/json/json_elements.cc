#include "easydata/json/json_elements.h"

#include <arrow/array.h>

#include <string>

namespace easydata::json {
namespace {

/// Texts of more bytes are parsed one by one: a parser keeps many times as much memory.
constexpr int64_t kMostBytes = 4 << 20;

}  // namespace

bool JsonElements::Parse(const arrow::StringArray& texts) {
  elements_.assign(texts.length(), {});
  if (texts.total_values_length() > kMostBytes) return false;
  std::string joined = "[";
  joined.reserve(texts.total_values_length() + texts.length() + 1);
  for (int64_t i = 0; i < texts.length(); ++i) {
    if (texts.IsNull(i)) continue;
    if (joined.size() > 1) joined += ',';
    joined += texts.GetView(i);
  }
  joined += ']';
  const auto parsed = parser_.Parse(joined);
  simdjson::dom::array values;
  if (!parsed.ok() || parsed->get_array().get(values) != simdjson::SUCCESS) return false;
  auto value = values.begin();
  for (int64_t i = 0; i < texts.length(); ++i) {
    if (texts.IsNull(i)) continue;
    if (value == values.end()) return false;
    elements_[i] = *value;
    ++value;
  }
  return !(value != values.end());
}

}  // namespace easydata::json
