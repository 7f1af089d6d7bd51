#include "easydata/stream/no_rows.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <utility>

namespace easydata {

Result<std::shared_ptr<arrow::RecordBatch>> NoRows(const std::shared_ptr<arrow::Schema>& schema) {
  arrow::ArrayVector columns;
  for (const auto& field : schema->fields()) {
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), arrow::MakeArrayOfNull(field->type(), 0));
  }
  return arrow::RecordBatch::Make(schema, 0, std::move(columns));
}

}  // namespace easydata
