#include "easydata/transform/cast_columns.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/stream/common_columns.h"
#include "easydata/stream/common_type.h"

namespace easydata::transform {
namespace {

class CastColumnsOp : public BatchOp {
 public:
  explicit CastColumnsOp(std::shared_ptr<arrow::Schema> schema) : schema_(std::move(schema)) {}

  bool keeps_rows() const override { return true; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    for (const auto& field : schema_->fields()) {
      if (input->GetFieldIndex(field->name()) >= 0) continue;
      return Status::TypeError("there is no column \"", field->name(), "\" in ", input->ToString(),
                               ", which is to have the columns ", schema_->ToString());
    }
    return schema_;
  }

  Result<Batch> Apply(Batch batch) const override {
    arrow::ArrayVector columns;
    for (const auto& field : schema_->fields()) {
      auto column = batch.rows->GetColumnByName(field->name());
      if (!column->type()->Equals(*field->type())) {
        ARROW_ASSIGN_OR_RAISE(column, CastValues(column, field->type()));
      }
      columns.push_back(std::move(column));
    }
    batch.rows = arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns));
    return batch;
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
};

/// Whether a column is text or tokens already, as is wanted.
bool HasKind(const arrow::Field& field, ColumnKind kind) {
  if (json::IsJsonField(field)) return true;  // ConformColumns() reads it
  if (kind == ColumnKind::kText) {
    return arrow::is_string(field.type()->id());
  }
  return kind == ColumnKind::kTokens && IsList(*field.type()) &&
         field.type()->field(0)->type()->id() == arrow::Type::INT32;
}

class ColumnsToJsonOp : public BatchOp {
 public:
  explicit ColumnsToJsonOp(Columns columns) : columns_(std::move(columns)) {}

  bool keeps_rows() const override { return true; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    if (!columns_.has_value()) return arrow::schema({json::JsonField(json::kRowColumn)});
    arrow::FieldVector fields;
    for (const ColumnRequest& request : *columns_) {
      const auto field = input->GetFieldByName(request.name);
      if (field == nullptr) {
        return Status::TypeError("there is no column \"", request.name, "\" in ",
                                 input->ToString());
      }
      fields.push_back(HasKind(*field, request.kind) ? field : json::JsonField(request.name));
    }
    return arrow::schema(std::move(fields));
  }

  Result<Batch> Apply(Batch batch) const override {
    ARROW_ASSIGN_OR_RAISE(auto schema, OutputSchema(batch.rows->schema()));
    arrow::ArrayVector columns;
    if (!columns_.has_value()) {
      ARROW_ASSIGN_OR_RAISE(auto rows, RowsAsJson(*batch.rows));
      columns.push_back(std::move(rows));
    } else {
      for (const ColumnRequest& request : *columns_) {
        const int i = batch.rows->schema()->GetFieldIndex(request.name);
        const auto& field = batch.rows->schema()->field(i);
        auto column = batch.rows->column(i);
        if (!HasKind(*field, request.kind)) {
          ARROW_ASSIGN_OR_RAISE(column, ValuesAsJson(*field, *column));
        }
        columns.push_back(std::move(column));
      }
    }
    batch.rows = arrow::RecordBatch::Make(std::move(schema), batch.num_rows(), std::move(columns));
    return batch;
  }

 private:
  const Columns columns_;
};

}  // namespace

std::shared_ptr<const BatchOp> CastColumns(std::shared_ptr<arrow::Schema> schema) {
  return std::make_shared<CastColumnsOp>(std::move(schema));
}

std::shared_ptr<const BatchOp> ColumnsToJson(Columns columns) {
  return std::make_shared<ColumnsToJsonOp>(std::move(columns));
}

}  // namespace easydata::transform
