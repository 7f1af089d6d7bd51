#include "tokenizers/text_column.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <simdjson.h>

#include <memory>

#include "tokenizers/decode/lossy_utf8.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

Status CheckText(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return Status::Invalid("text of more than 2 GiB; cut it first (bytes: ", text.size(), ")");
  }
  if (simdjson::validate_utf8(text.data(), text.size())) return Status::OK();
  return Status::Invalid(
      "text is not valid UTF-8; decode it properly or replace what is broken (byte ",
      FirstInvalidUtf8(text), ")");
}

Result<TextColumn> TextColumn::Make(const arrow::Array& array) {
  TextColumn column(&array);
  std::shared_ptr<arrow::Buffer> data;
  if (array.type_id() == arrow::Type::STRING) {
    const auto& strings = static_cast<const arrow::StringArray&>(array);
    column.offsets_ = strings.raw_value_offsets();
    data = strings.value_data();
  } else if (array.type_id() == arrow::Type::LARGE_STRING) {
    const auto& strings = static_cast<const arrow::LargeStringArray&>(array);
    column.large_offsets_ = strings.raw_value_offsets();
    data = strings.value_data();
  } else {
    return Status::TypeError("texts must be an Arrow array of string or large_string; got ",
                             array.type()->ToString());
  }
  if (data != nullptr && data->size() > 0) {
    column.data_ = reinterpret_cast<const char*>(data->data());
    column.readable_end_ = column.data_ + data->size();
  }
  return column;
}

// Checked in one pass over all rows.
bool TextColumn::AreValid(int64_t begin, int64_t end) const {
  if (bytes(begin, end) == 0) return true;
  if (!simdjson::validate_utf8(data_ + offset(begin), static_cast<size_t>(bytes(begin, end)))) {
    return false;
  }
  for (int64_t row = begin; row < end; ++row) {
    const std::string_view value = text(row);
    if (value.size() > kMaxTextBytes || (!value.empty() && utf8::IsContinuation(value[0]))) {
      return false;
    }
  }
  return true;
}

Status TextColumn::Check(int64_t begin, int64_t end) const {
  if (AreValid(begin, end)) return Status::OK();
  for (int64_t row = begin; row < end; ++row) {
    const Status status = CheckText(text(row));
    if (!status.ok()) return status.WithMessage("row ", row, ": ", status.message());
  }
  return Status::OK();
}

}  // namespace easydata::tokenizers
