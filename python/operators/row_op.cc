#include "operators/row_op.h"

#include <nanobind/stl/string.h>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/json/json_text.h"
#include "operators/limited_api.h"
#include "operators/rows.h"

namespace easydata {
namespace {

// The metadata of a column that stands for a field of the row: its index.
constexpr const char kIndexKey[] = "row_field";

}  // namespace

RowOp::Look RowOp::LookAt(nb::handle value) {
  if (value.is_none()) return Look::kNull;
  if (PyUnicode_Check(value.ptr())) {
    return PyUnicode_GET_LENGTH(value.ptr()) == 0 ? Look::kEmptyText : Look::kText;
  }
  if (PyList_Check(value.ptr())) {
    return PyList_GET_SIZE(value.ptr()) == 0 ? Look::kEmptyList : Look::kList;
  }
  return Look::kOther;
}

Result<std::shared_ptr<arrow::Array>> RowOp::StandIn(Look look) {
  switch (look) {
    case Look::kNull:
      return arrow::MakeArrayOfNull(arrow::utf8(), 1);
    case Look::kEmptyText:
    case Look::kText:
      return arrow::MakeArrayFromScalar(arrow::StringScalar(look == Look::kText ? "x" : ""), 1);
    case Look::kEmptyList:
    case Look::kList: {
      ARROW_ASSIGN_OR_RAISE(auto items, arrow::MakeArrayFromScalar(arrow::Int32Scalar(0),
                                                                   look == Look::kList ? 1 : 0));
      return arrow::MakeArrayFromScalar(arrow::ListScalar(std::move(items)), 1);
    }
    default:
      return arrow::MakeArrayFromScalar(arrow::Int32Scalar(0), 1);
  }
}

Status RowOp::Run(const std::vector<std::string>& names, const std::vector<Look>& looks) {
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  for (size_t i = 0; i < names.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto column, StandIn(looks[i]));
    fields.push_back(arrow::field(names[i], column->type(), true,
                                  arrow::key_value_metadata({kIndexKey}, {std::to_string(i)})));
    columns.push_back(std::move(column));
  }
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), 1, std::move(columns));
  static const auto shard = std::make_shared<const ShardRef>(ShardRef{"", "row"});
  batch.addresses = Addresses(shard, 0, 1);
  ARROW_ASSIGN_OR_RAISE(const Batch out, op_->Apply(std::move(batch)));
  made_.clear();
  stays_ = out.num_rows() == 1;
  if (!stays_) return Status::OK();
  for (int i = 0; i < out.rows->num_columns(); ++i) {
    const auto& field = out.rows->schema()->field(i);
    Made made;
    made.name = field->name();
    const auto index = field->HasMetadata() ? field->metadata()->Get(kIndexKey)
                                            : Result<std::string>(Status::KeyError(""));
    if (index.ok()) {
      made.from = std::stoi(*index);
    } else if (json::IsJsonField(*field)) {
      made.json = static_cast<const arrow::StringArray&>(*out.rows->column(i)).GetView(0);
    } else {
      ARROW_RETURN_NOT_OK(json::AppendJsonValue(*out.rows->column(i), 0, &made.json));
    }
    made_.push_back(std::move(made));
  }
  return Status::OK();
}

nb::object RowOp::Apply(nb::handle row) {
  if (!PyDict_Check(row.ptr())) {
    throw nb::type_error(("a row is a dict of fields by name, not " + ClassNameOf(row)).c_str());
  }
  std::vector<std::string> names;
  std::vector<Look> looks;
  std::vector<nb::object> values;
  for (auto [name, value] : nb::borrow<nb::dict>(row)) {
    if (!PyUnicode_Check(name.ptr())) {
      throw nb::type_error(
          ("a row has a key of type " + ClassNameOf(name) + ", expected str").c_str());
    }
    names.push_back(nb::cast<std::string>(name));
    looks.push_back(LookAt(value));
    values.push_back(nb::borrow(value));
  }
  if (!has_run_ || names != names_ || looks != looks_) {
    has_run_ = false;
    Check(Run(names, looks));
    names_ = std::move(names);
    looks_ = std::move(looks);
    has_run_ = true;
  }
  if (!stays_) return nb::none();
  nb::dict out;
  for (const Made& made : made_) {
    const nb::object value = made.from >= 0 ? values[made.from] : JsonTextToPython(made.json);
    out[nb::str(made.name.data(), made.name.size())] = value;
  }
  return out;
}

}  // namespace easydata
