#include "easydata/stream/column_padding.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/json/bounded_json.h"

namespace easydata {
namespace {

constexpr char kPaddingKey[] = "easydata.padding";

}  // namespace

ColumnPaddingsPtr JoinedPaddings(const ColumnPaddingsPtr& known, const ColumnPaddingsPtr& more) {
  if (known == nullptr || more == nullptr) return known == nullptr ? more : known;
  auto all = std::make_shared<ColumnPaddings>(*known);
  all->insert(more->begin(), more->end());
  return all;
}

std::shared_ptr<arrow::Schema> WithPaddings(const std::shared_ptr<arrow::Schema>& schema,
                                            const ColumnPaddingsPtr& paddings) {
  if (paddings == nullptr) return schema;
  arrow::FieldVector fields = schema->fields();
  for (auto& field : fields) {
    const auto known = paddings->find(field->name());
    if (known == paddings->end()) continue;
    const ColumnPadding& padding = known->second;
    const nlohmann::json text = {
        {"value", padding.value}, {"left", padding.left}, {"is_token", padding.is_token}};
    field = field->WithMergedMetadata(arrow::key_value_metadata({{kPaddingKey, text.dump()}}));
  }
  return arrow::schema(std::move(fields), schema->metadata());
}

std::optional<ColumnPadding> PaddingOf(const arrow::Field& field) {
  if (!field.HasMetadata()) return std::nullopt;
  const auto text = field.metadata()->Get(kPaddingKey);
  if (!text.ok()) return std::nullopt;
  const auto json = json::ParseBoundedJson(*text);
  if (!json.ok() || !json->is_object()) return std::nullopt;
  const auto value = json->find("value");
  if (value == json->end() || !value->is_number_integer()) return std::nullopt;
  ColumnPadding padding;
  padding.value = value->get<int64_t>();
  const auto is_set = [&](const char* key) {
    const auto at = json->find(key);
    return at != json->end() && at->is_boolean() && at->get<bool>();
  };
  padding.left = is_set("left");
  padding.is_token = is_set("is_token");
  return padding;
}

}  // namespace easydata
