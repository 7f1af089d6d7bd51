#include "easydata/transform/add_constant.h"

#include "easydata/transform/column_op.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <nlohmann/json.hpp>

#include "easydata/json/json_column.h"

namespace easydata::transform {
namespace {

class AddConstantOp : public BatchOp {
 public:
  AddConstantOp(std::shared_ptr<arrow::Field> field, std::shared_ptr<arrow::Scalar> value)
      : field_(std::move(field)), value_(std::move(value)) {}

  bool keeps_rows() const override { return true; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    const int i = input->GetFieldIndex(field_->name());
    return i < 0 ? input->AddField(input->num_fields(), field_) : input->SetField(i, field_);
  }

  Result<Batch> Apply(Batch batch) const override {
    ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*value_, batch.num_rows()));
    const int i = batch.rows->schema()->GetFieldIndex(field_->name());
    if (i < 0) {
      ARROW_ASSIGN_OR_RAISE(batch.rows,
                            batch.rows->AddColumn(batch.rows->num_columns(), field_, column));
    } else {
      ARROW_ASSIGN_OR_RAISE(batch.rows, batch.rows->SetColumn(i, field_, column));
    }
    return batch;
  }

 private:
  const std::shared_ptr<arrow::Field> field_;
  const std::shared_ptr<arrow::Scalar> value_;
};

}  // namespace

std::shared_ptr<const BatchOp> AddConstant(std::string name, const nlohmann::json& value) {
  std::shared_ptr<arrow::Scalar> scalar;
  std::shared_ptr<arrow::Field> field;
  if (value.is_string()) {
    scalar = arrow::MakeScalar(value.get<std::string>());
  } else if (value.is_boolean()) {
    scalar = arrow::MakeScalar(value.get<bool>());
  } else if (value.is_number_float()) {
    scalar = arrow::MakeScalar(value.get<double>());
  } else if (value.is_number_integer() &&
             !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX})) {
    scalar = arrow::MakeScalar(value.get<int64_t>());
  } else {
    scalar = arrow::MakeScalar(value.dump());
    field = json::JsonField(name);
  }
  if (field == nullptr) field = arrow::field(std::move(name), scalar->type);
  return std::make_shared<AddConstantOp>(std::move(field), std::move(scalar));
}

const ColumnOpKind kAddFieldColumnOp = {
    "add_field",
    [](const nlohmann::json& options) -> Result<std::shared_ptr<const BatchOp>> {
      return AddConstant(options.at("field").get<std::string>(), options.at("value"));
    },
    [](const nlohmann::json& options) {
      FieldUse use;
      use.written = {options.at("field").get<std::string>()};
      return use;
    }};

}  // namespace easydata::transform
