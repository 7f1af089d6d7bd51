#include "easydata/json/json_column.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace easydata::json {
namespace {
constexpr const char kKey[] = "easydata.json";
}

std::shared_ptr<arrow::Field> JsonField(const std::string& name) {
  return arrow::field(name, arrow::utf8(), true, arrow::key_value_metadata({kKey}, {"1"}));
}

bool IsJsonField(const arrow::Field& field) {
  return field.type()->id() == arrow::Type::STRING && field.metadata() != nullptr &&
         field.metadata()->Contains(kKey);
}

bool IsRowField(const arrow::Field& field) {
  return field.name() == kRowColumn && IsJsonField(field);
}

int RowColumnIndex(const arrow::Schema& schema) {
  for (int i = 0; i < schema.num_fields(); ++i) {
    if (IsRowField(*schema.field(i))) return i;
  }
  return -1;
}

const arrow::StringArray* WholeRows(const arrow::RecordBatch& rows) {
  const int index = RowColumnIndex(*rows.schema());
  return index < 0 ? nullptr : static_cast<const arrow::StringArray*>(rows.column(index).get());
}

}  // namespace easydata::json
