#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>

namespace easydata::json {

/// JSON has no schema: values of unknown type travel as a utf8 column of JSON text, marked in the
/// field's metadata. A null slot means that the row has no such key; JSON's own null is the text
/// `null`.

/// Name of the column that holds a whole row (one JSON object) where all columns were asked for.
inline constexpr const char kRowColumn[] = "__row__";

/// A utf8 field whose values are JSON text.
std::shared_ptr<arrow::Field> JsonField(const std::string& name);

/// Whether a column is JSON text. Its type counts, too: other programs keep the metadata when they
/// change the type.
bool IsJsonField(const arrow::Field& field);
/// Whether a column holds whole rows; a file may have a column of the same name.
bool IsRowField(const arrow::Field& field);
/// The index of the column of whole rows; -1 where there is none.
int RowColumnIndex(const arrow::Schema& schema);
/// The texts of whole rows, which the batch holds; null where rows have columns.
const arrow::StringArray* WholeRows(const arrow::RecordBatch& rows);

}  // namespace easydata::json
