#include "easydata/mix/union_schema.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/json/json_text.h"
#include "easydata/stream/columns.h"

namespace easydata::mix {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

/// The type that holds the values of both, or null.
TypePtr CommonType(const TypePtr& a, const TypePtr& b) {
  if (a->Equals(*b) || b->id() == arrow::Type::NA) return a;
  if (a->id() == arrow::Type::NA) return b;
  if (arrow::is_string(a->id()) && arrow::is_string(b->id())) return arrow::large_utf8();
  if (arrow::is_signed_integer(a->id()) && arrow::is_signed_integer(b->id())) {
    return a->byte_width() > b->byte_width() ? a : b;
  }
  if (arrow::is_unsigned_integer(a->id()) && arrow::is_unsigned_integer(b->id())) {
    return a->byte_width() > b->byte_width() ? a : b;
  }
  if (arrow::is_integer(a->id()) && arrow::is_integer(b->id())) {
    const TypePtr& wide_signed = arrow::is_signed_integer(a->id()) ? a : b;
    const TypePtr& no_sign = arrow::is_signed_integer(a->id()) ? b : a;
    if (no_sign->byte_width() < wide_signed->byte_width()) return wide_signed;
    return no_sign->byte_width() < 8 ? arrow::int64() : nullptr;
  }
  if (IsList(*a) && IsList(*b)) {
    TypePtr value = CommonType(static_cast<const arrow::BaseListType&>(*a).value_type(),
                               static_cast<const arrow::BaseListType&>(*b).value_type());
    if (value == nullptr) return nullptr;
    const bool large = a->id() == arrow::Type::LARGE_LIST || b->id() == arrow::Type::LARGE_LIST;
    return large ? arrow::large_list(std::move(value)) : arrow::list(std::move(value));
  }
  return nullptr;
}

bool HasRows(const arrow::Schema& schema) { return schema.GetFieldIndex(json::kRowColumn) >= 0; }

/// Every row of the batch as one JSON object.
Result<std::shared_ptr<arrow::Array>> RowsAsJson(const arrow::RecordBatch& rows) {
  for (const auto& field : rows.schema()->fields())
    ARROW_RETURN_NOT_OK(json::CheckJsonType(*field));
  std::string lines;
  ARROW_RETURN_NOT_OK(json::AppendJsonLines(rows, &lines));
  arrow::StringBuilder builder;
  for (size_t start = 0; start < lines.size();) {
    const size_t end = lines.find('\n', start);
    ARROW_RETURN_NOT_OK(builder.Append(std::string_view(lines).substr(start, end - start)));
    start = end + 1;
  }
  return builder.Finish();
}

Result<std::shared_ptr<arrow::Array>> ValuesAsJson(const arrow::Field& field,
                                                   const arrow::Array& values) {
  ARROW_RETURN_NOT_OK(json::CheckJsonType(field));
  arrow::StringBuilder builder;
  std::string text;
  for (int64_t i = 0; i < values.length(); ++i) {
    text.clear();
    ARROW_RETURN_NOT_OK(json::AppendJsonValue(values, i, &text));
    ARROW_RETURN_NOT_OK(builder.Append(text));
  }
  return builder.Finish();
}

}  // namespace

Result<std::shared_ptr<arrow::Schema>> UnionSchema(
    const std::vector<std::string>& names,
    const std::vector<std::shared_ptr<arrow::Schema>>& schemas) {
  arrow::FieldVector fields;
  std::vector<std::string> named_by;
  std::map<std::string, size_t> indices;
  const bool whole_rows =
      std::any_of(schemas.begin(), schemas.end(), [](const auto& s) { return HasRows(*s); });
  for (size_t i = 0; i < schemas.size(); ++i) {
    if (whole_rows && !HasRows(*schemas[i])) continue;  // its columns go into the row
    for (const auto& field : schemas[i]->fields()) {
      const auto [found, is_new] = indices.emplace(field->name(), fields.size());
      if (is_new) {
        fields.push_back(field->WithNullable(true));
        named_by.push_back(names[i]);
        continue;
      }
      auto& known = fields[found->second];
      if (json::IsJsonField(*known) || json::IsJsonField(*field)) {
        known = json::JsonField(field->name());
        continue;
      }
      TypePtr type = CommonType(known->type(), field->type());
      if (type == nullptr) {
        return Status::TypeError("column \"", field->name(),
                                 "\" has two types in the mix: ", "sources[\"",
                                 named_by[found->second], "\"] has ", known->type()->ToString(),
                                 ", sources[\"", names[i], "\"] has ", field->type()->ToString(),
                                 "; convert or rename it in one of them before mixing");
      }
      known = known->WithType(std::move(type));
    }
  }
  return arrow::schema(std::move(fields));
}

Result<std::shared_ptr<arrow::RecordBatch>> ToUnion(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                    const arrow::Schema& schema) {
  if (HasRows(schema) && !HasRows(*rows->schema())) {
    ARROW_ASSIGN_OR_RAISE(auto column, RowsAsJson(*rows));
    return arrow::RecordBatch::Make(arrow::schema({schema.GetFieldByName(json::kRowColumn)}),
                                    rows->num_rows(), {std::move(column)});
  }
  std::shared_ptr<arrow::RecordBatch> out = rows;
  for (int i = 0; i < rows->num_columns(); ++i) {
    const auto& field = rows->schema()->field(i);
    const auto target = schema.GetFieldByName(field->name());
    if (target == nullptr) continue;
    std::shared_ptr<arrow::Array> column = rows->column(i);
    if (json::IsJsonField(*target) && !json::IsJsonField(*field)) {
      ARROW_ASSIGN_OR_RAISE(column, ValuesAsJson(*field, *column));
    } else if (column->type_id() == arrow::Type::NA || column->type()->Equals(*target->type())) {
      continue;
    } else {
      ARROW_ASSIGN_OR_RAISE(column, arrow::compute::Cast(*column, target->type()));
    }
    ARROW_ASSIGN_OR_RAISE(out, out->SetColumn(i, target, std::move(column)));
  }
  return out;
}

}  // namespace easydata::mix
