#include "easydata/source/table_columns.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <utility>

#include "easydata/base/escaped_text.h"
#include "easydata/base/nearest_name.h"
#include "easydata/source/row_runs.h"
#include "easydata/stream/common_columns.h"
#include "easydata/stream/common_type.h"
#include "easydata/stream/no_rows.h"

namespace easydata::source {
namespace {

using SchemaPtr = std::shared_ptr<arrow::Schema>;
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

std::string Quoted(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + EscapedText(name);
  return out;
}

std::shared_ptr<arrow::DataType> WithoutViews(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() == arrow::Type::STRING_VIEW) return arrow::utf8();
  if (type->id() == arrow::Type::BINARY_VIEW) return arrow::binary();
  if (!arrow::is_list(type->id()) && type->id() != arrow::Type::STRUCT) return type;
  arrow::FieldVector fields;
  bool is_same = true;
  for (const auto& field : type->fields()) {
    fields.push_back(field->WithType(WithoutViews(field->type())));
    is_same = is_same && fields.back()->type() == field->type();
  }
  if (is_same) return type;
  if (type->id() == arrow::Type::STRUCT) return arrow::struct_(std::move(fields));
  if (type->id() == arrow::Type::LIST) return arrow::list(fields[0]);
  return arrow::large_list(fields[0]);
}

/// A field whose text and bytes are stored as others are: few of Arrow's functions know views.
std::shared_ptr<arrow::Field> WithoutViews(const std::shared_ptr<arrow::Field>& field) {
  return field->WithType(WithoutViews(field->type()));
}

/// Refuses names that consumers of columns cannot have: names are text, and many end them at a NUL.
Status CheckNames(const arrow::FieldVector& fields, const std::string& where) {
  for (const auto& field : fields) {
    const std::string& name = field->name();
    if (name.find('\0') != std::string::npos) {
      return Status::Invalid(where, " has a field whose name has a NUL character: \"", name.c_str(),
                             "\\0\"...; rename it, or get the file again");
    }
    if (!IsUtf8(name)) {
      return Status::Invalid(where, " has a field whose name is not UTF-8: \"", EscapedText(name),
                             "\"; rename it, or get the file again");
    }
    ARROW_RETURN_NOT_OK(CheckNames(field->type()->fields(), where));
  }
  return Status::OK();
}

/// Refuses a cast that no value survives: between an object, a list and anything else.
Status CheckCast(const arrow::DataType& from, const arrow::Field& to, const std::string& where) {
  const auto kind = [](const arrow::DataType& type) {
    if (type.id() == arrow::Type::STRUCT || type.id() == arrow::Type::MAP) return 2;
    return arrow::is_nested(type.id()) ? 1 : 0;
  };
  if (from.id() == arrow::Type::NA || kind(from) == kind(*to.type())) return Status::OK();
  return Status::TypeError(where, ": column \"", EscapedText(to.name()), "\" is of type ",
                           from.ToString(), ", which is not to be read as ", to.type()->ToString(),
                           ", as the first file of this source has it or ",
                           "column_types asks; read the files as two datasets");
}

/// Casts the rows of a batch one part after the other, and finds those that do not fit.
class FittingRows {
 public:
  FittingRows(SchemaPtr schema, OnError on_error, DecodedBlock* block)
      : schema_(std::move(schema)), on_error_(on_error), block_(block) {}

  /// Adds rows, of which the first is row `first` of the block; halves them until it is one that
  /// does not fit.
  Status Add(const BatchPtr& rows, int64_t first) {
    if (rows->num_rows() == 0 || block_->stopped.has_value()) return Status::OK();
    auto cast = InColumns(rows, schema_);
    if (cast.ok()) {
      kept_.push_back(std::move(*cast));
      for (int64_t i = 0; i < rows->num_rows(); ++i) runs_.Add(first + i);
      return Status::OK();
    }
    if (!cast.status().IsInvalid()) return cast.status();
    if (rows->num_rows() > 1) {
      const int64_t half = rows->num_rows() / 2;
      ARROW_RETURN_NOT_OK(Add(rows->Slice(0, half), first));
      return Add(rows->Slice(half), first + half);
    }
    BadRow bad;
    bad.row = first;
    bad.reason = "wrong type of field";
    bad.message = cast.status().message() + "; give the column's type: column_types={...}";
    if (on_error_ == OnError::kRaise) {
      block_->stopped = std::move(bad);
    } else {
      const auto json = RowsAsJson(*rows);
      bad.content = json.ok() ? static_cast<const arrow::StringArray&>(**json).GetString(0)
                              : rows->ToString();
      block_->bad.push_back(std::move(bad));
    }
    return Status::OK();
  }

  Status Finish() {
    block_->runs = runs_.Take();
    if (kept_.empty()) {
      ARROW_ASSIGN_OR_RAISE(block_->rows, NoRows(schema_));
      return Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(block_->rows, arrow::ConcatenateRecordBatches(kept_));
    return Status::OK();
  }

 private:
  const SchemaPtr schema_;
  const OnError on_error_;
  DecodedBlock* const block_;
  std::vector<BatchPtr> kept_;
  RowRuns runs_;
};

}  // namespace

Result<std::shared_ptr<arrow::Schema>> ChosenSchema(const arrow::Schema& file,
                                                    const Columns& columns,
                                                    const std::string& where) {
  arrow::FieldVector fields;
  if (!columns.has_value()) {
    ARROW_RETURN_NOT_OK(CheckNames(file.fields(), where));
    for (int i = 0; i < file.num_fields(); ++i) {
      if (file.GetAllFieldIndices(file.field(i)->name()).size() > 1) {
        return Status::Invalid(where, " has two columns named \"", file.field(i)->name(),
                               "\"; rename one, rows need distinct names");
      }
      fields.push_back(WithoutViews(file.field(i)));
    }
    return arrow::schema(std::move(fields));
  }
  for (const ColumnRequest& column : *columns) {
    const auto field = file.GetFieldByName(column.name);
    if (field == nullptr) return MissingColumn(file, column.name, where);
    fields.push_back(WithoutViews(field));
  }
  ARROW_RETURN_NOT_OK(CheckNames(fields, where));
  return arrow::schema(std::move(fields));
}

Status MissingColumn(const arrow::Schema& file, const std::string& name, const std::string& where) {
  const auto names = file.field_names();
  const std::string hint = DidYouMean(name, names);
  return Status::KeyError(where, " has no column \"", name, "\"",
                          hint.empty() ? "; it has: " : hint + " It has: ", Quoted(names));
}

Result<std::vector<int>> ChosenFields(const arrow::Schema& file, const arrow::Schema& wanted,
                                      const Columns& columns, const std::string& where) {
  std::vector<int> out;
  for (const auto& field : wanted.fields()) {
    const int index = file.GetFieldIndex(field->name());
    if (index >= 0) {
      ARROW_RETURN_NOT_OK(CheckCast(*file.field(index)->type(), *field, where));
      out.push_back(index);
      continue;
    }
    const ColumnRequest* asked =
        columns.has_value() ? FindColumn(*columns, field->name()) : nullptr;
    if (asked != nullptr && asked->kind != ColumnKind::kAny) {
      return MissingColumn(file, field->name(), where);
    }
  }
  if (columns.has_value()) return out;
  for (const auto& field : file.fields()) {
    if (wanted.GetFieldIndex(field->name()) >= 0) continue;
    return Status::TypeError(where, " has a column \"", EscapedText(field->name()),
                             "\", which its source was not known to have when it was made; start "
                             "anew, or name the columns that are read: columns=[...]");
  }
  return out;
}

Result<BatchPtr> InColumns(const BatchPtr& batch, const SchemaPtr& schema) {
  if (batch->schema()->Equals(*schema)) return batch;
  arrow::ArrayVector columns;
  for (const auto& field : schema->fields()) {
    const auto column = batch->GetColumnByName(field->name());
    if (column == nullptr) {
      ARROW_ASSIGN_OR_RAISE(columns.emplace_back(),
                            arrow::MakeArrayOfNull(field->type(), batch->num_rows()));
      continue;
    }
    auto cast = CastValues(column, field->type());
    if (!cast.ok()) {
      return cast.status().WithMessage("column \"", EscapedText(field->name()), "\", of type ",
                                       column->type()->ToString(), ", is to be ",
                                       field->type()->ToString(), ": ", cast.status().message());
    }
    columns.push_back(std::move(*cast));
  }
  return arrow::RecordBatch::Make(schema, batch->num_rows(), std::move(columns));
}

Result<DecodedBlock> BlockInColumns(BatchPtr batch, const SchemaPtr& schema, int64_t skip,
                                    OnError on_error) {
  DecodedBlock block;
  auto rows = InColumns(batch, schema);
  if (rows.ok()) {
    block.SetRows(std::move(*rows), skip);
    return block;
  }
  if (!rows.status().IsInvalid()) return rows.status();
  block.num_rows = batch->num_rows();
  skip = std::min(skip, block.num_rows);
  FittingRows fitting(schema, on_error, &block);
  ARROW_RETURN_NOT_OK(fitting.Add(batch->Slice(skip), skip));
  ARROW_RETURN_NOT_OK(fitting.Finish());
  return block;
}

}  // namespace easydata::source
