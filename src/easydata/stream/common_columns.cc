#include "easydata/stream/common_columns.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <string>
#include <string_view>
#include <utility>

#include "easydata/json/json_text.h"

namespace easydata {

Result<std::shared_ptr<arrow::Array>> RowsAsJson(const arrow::RecordBatch& rows) {
  for (const auto& field : rows.schema()->fields())
    ARROW_RETURN_NOT_OK(json::CheckJsonType(*field));
  std::string lines;
  ARROW_RETURN_NOT_OK(json::AppendJsonLines(rows, &lines));
  arrow::StringBuilder builder;
  for (size_t start = 0; start < lines.size();) {
    const size_t end = lines.find('\n', start);
    ARROW_RETURN_NOT_OK(builder.Append(std::string_view(lines).substr(start, end - start)));
    start = end + 1;
  }
  return builder.Finish();
}

Result<std::shared_ptr<arrow::Array>> ValuesAsJson(const arrow::Field& field,
                                                   const arrow::Array& values) {
  ARROW_RETURN_NOT_OK(json::CheckJsonType(field));
  arrow::StringBuilder builder;
  std::string text;
  for (int64_t i = 0; i < values.length(); ++i) {
    text.clear();
    ARROW_RETURN_NOT_OK(json::AppendJsonValue(values, i, &text));
    ARROW_RETURN_NOT_OK(builder.Append(text));
  }
  return builder.Finish();
}

}  // namespace easydata
