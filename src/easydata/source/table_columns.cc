#include "easydata/source/table_columns.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "easydata/base/escaped_text.h"
#include "easydata/base/nearest_name.h"

namespace easydata::source {
namespace {

std::string Quoted(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + EscapedText(name);
  return out;
}

Status Missing(const arrow::Schema& file, const std::string& name, const std::string& where) {
  const auto names = file.field_names();
  const std::string hint = DidYouMean(name, names);
  return Status::KeyError(where, " has no column \"", name, "\"",
                          hint.empty() ? "; it has: " : hint + " It has: ", Quoted(names));
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
      fields.push_back(file.field(i));
    }
    return arrow::schema(std::move(fields));
  }
  for (const ColumnRequest& column : *columns) {
    const auto field = file.GetFieldByName(column.name);
    if (field == nullptr) return Missing(file, column.name, where);
    fields.push_back(field);
  }
  ARROW_RETURN_NOT_OK(CheckNames(fields, where));
  return arrow::schema(std::move(fields));
}

Result<std::vector<int>> ChosenFields(const arrow::Schema& file, const arrow::Schema& wanted,
                                      const std::string& where) {
  std::vector<int> out;
  for (const auto& field : wanted.fields()) {
    const int index = file.GetFieldIndex(field->name());
    if (index < 0) return Missing(file, field->name(), where);
    if (!file.field(index)->type()->Equals(*field->type())) {
      return Status::TypeError(where, ": column \"", field->name(), "\" is of type ",
                               file.field(index)->type()->ToString(),
                               ", in the first file of this source it is ",
                               field->type()->ToString(),
                               "; write the files with one type, or read them as two sources");
    }
    out.push_back(index);
  }
  return out;
}

Result<std::shared_ptr<arrow::RecordBatch>> ChooseColumns(
    const std::shared_ptr<arrow::RecordBatch>& batch,
    const std::shared_ptr<arrow::Schema>& schema) {
  arrow::ArrayVector columns;
  for (const auto& field : schema->fields()) {
    auto column = batch->GetColumnByName(field->name());
    if (column == nullptr) return Status::KeyError("there is no column \"", field->name(), "\"");
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(schema, batch->num_rows(), std::move(columns));
}

}  // namespace easydata::source
