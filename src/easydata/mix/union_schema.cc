#include "easydata/mix/union_schema.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <map>
#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/stream/common_columns.h"
#include "easydata/stream/common_type.h"

namespace easydata::mix {
namespace {

bool HasRows(const arrow::Schema& schema) { return json::RowColumnIndex(schema) >= 0; }

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
      std::shared_ptr<arrow::DataType> type = CommonType(known->type(), field->type());
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
    return arrow::RecordBatch::Make(arrow::schema({schema.field(json::RowColumnIndex(schema))}),
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
      ARROW_ASSIGN_OR_RAISE(column, CastValues(column, target->type()));
    }
    ARROW_ASSIGN_OR_RAISE(out, out->SetColumn(i, target, std::move(column)));
  }
  return out;
}

}  // namespace easydata::mix
