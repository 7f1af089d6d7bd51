#include "easydata/json/json_elements.h"

#include <arrow/array.h>

namespace easydata::json {
namespace {

/// Texts of more bytes are parsed one by one: a parser keeps many times as much memory.
constexpr int64_t kMostBytes = 4 << 20;

}  // namespace

bool JsonElements::Parse(const arrow::StringArray& texts) {
  elements_.assign(texts.length(), {});
  if (texts.total_values_length() > kMostBytes) return false;
  joined_ = "[";
  joined_.reserve(texts.total_values_length() + texts.length() + 1 + simdjson::SIMDJSON_PADDING);
  for (int64_t i = 0; i < texts.length(); ++i) {
    if (texts.IsNull(i)) continue;
    if (joined_.size() > 1) joined_ += ',';
    joined_ += texts.GetView(i);
  }
  joined_ += ']';
  const auto parsed = parser_.Parse(joined_, /*is_padded=*/true);
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
