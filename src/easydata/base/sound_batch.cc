#include "easydata/base/sound_batch.h"

#include <arrow/array/data.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <utility>
#include <vector>

namespace easydata {

Status CheckSoundBatch(const arrow::RecordBatch& batch) {
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (int i = 0; i < batch.num_columns(); ++i) {
    std::shared_ptr<arrow::Field> field = batch.schema()->field(i);
    std::shared_ptr<arrow::ArrayData> column = batch.column_data(i);
    const bool is_text = field->type()->id() == arrow::Type::STRING;
    if (is_text || field->type()->id() == arrow::Type::LARGE_STRING) {
      field = field->WithType(is_text ? arrow::binary() : arrow::large_binary());
      column = column->Copy();
      column->type = field->type();
    }
    fields.push_back(std::move(field));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(),
                                  std::move(columns))
      ->ValidateFull();
}

}  // namespace easydata
