#include "easydata/stream/common_columns.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <string>
#include <string_view>
#include <utility>

#include "easydata/json/json_text.h"
#include "easydata/stream/columns.h"

namespace easydata {

using TypePtr = std::shared_ptr<arrow::DataType>;

TypePtr CommonType(const TypePtr& a, const TypePtr& b) {
  if (a->Equals(*b) || b->id() == arrow::Type::NA) return a;
  if (a->id() == arrow::Type::NA) return b;
  if (arrow::is_string(a->id()) && arrow::is_string(b->id())) return arrow::large_utf8();
  if (arrow::is_signed_integer(a->id()) && arrow::is_signed_integer(b->id())) {
    return a->byte_width() > b->byte_width() ? a : b;
  }
  if (arrow::is_unsigned_integer(a->id()) && arrow::is_unsigned_integer(b->id())) {
    return a->byte_width() > b->byte_width() ? a : b;
  }
  if (arrow::is_integer(a->id()) && arrow::is_integer(b->id())) {
    const TypePtr& wide_signed = arrow::is_signed_integer(a->id()) ? a : b;
    const TypePtr& no_sign = arrow::is_signed_integer(a->id()) ? b : a;
    if (no_sign->byte_width() < wide_signed->byte_width()) return wide_signed;
    return no_sign->byte_width() < 8 ? arrow::int64() : nullptr;
  }
  if (IsList(*a) && IsList(*b)) {
    TypePtr value = CommonType(static_cast<const arrow::BaseListType&>(*a).value_type(),
                               static_cast<const arrow::BaseListType&>(*b).value_type());
    if (value == nullptr) return nullptr;
    const bool large = a->id() == arrow::Type::LARGE_LIST || b->id() == arrow::Type::LARGE_LIST;
    return large ? arrow::large_list(std::move(value)) : arrow::list(std::move(value));
  }
  return nullptr;
}

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
