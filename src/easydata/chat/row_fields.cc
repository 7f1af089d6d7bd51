#include "easydata/chat/row_fields.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>

#include "easydata/json/json_column.h"

namespace easydata::chat {

using jinja::Value;
using jinja::ValueKind;

namespace {

bool SaysSomething(const Value& value) {
  switch (value.kind) {
    case ValueKind::kString: {
      std::string_view text = value.Text();
      constexpr std::string_view kBlanks = " \t\n\r\f\v";
      const size_t begin = text.find_first_not_of(kBlanks);
      if (begin == std::string_view::npos) return false;
      text = text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
      return text != "[]" && text != "{}" && text != "null";
    }
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kDict:
      return value.size > 0;
    default:
      return true;
  }
}

}  // namespace

RowFields::RowFields(const arrow::RecordBatch& rows, ValueReader* reader)
    : reader_(reader), whole_(json::WholeRows(rows)) {
  for (int i = 0; i < rows.num_columns(); ++i) {
    const auto& field = rows.schema()->field(i);
    // Of JSON every column is there that was asked for, and most hold nothing.
    if (rows.column(i)->null_count() == rows.num_rows()) continue;
    columns_.emplace_back(field->name(),
                          FieldColumn{rows.column(i).get(), json::IsJsonField(*field)});
  }
}

Status RowFields::GoTo(int64_t row, jinja::Arena* arena) {
  row_ = row;
  arena_ = arena;
  if (whole_ == nullptr) return Status::OK();
  const auto read = reader_->ReadRow(*whole_, row, /*is_json=*/true, arena);
  if (read.status().IsNotImplemented()) {
    return Status::Invalid("the row cannot be read as text for a tokenizer: ",
                           read.status().message(), " (a lone surrogate, or NaN?)");
  }
  ARROW_ASSIGN_OR_RAISE(whole_row_, read);
  if (whole_row_.Is(ValueKind::kDict)) return Status::OK();
  return Status::TypeError("the row is no JSON object");
}

Result<Value> RowFields::Get(std::string_view name) const {
  auto value = LookAt(name);
  if (kept_ != nullptr && value.ok() && !value->Is(ValueKind::kNone)) MarkRead(name);
  return value;
}

void RowFields::MarkRead(std::string_view name) const {
  if (kept_ != nullptr) kept_->emplace(name);
}

Result<Value> RowFields::LookAt(std::string_view name) const {
  if (whole_ != nullptr) {
    const Value* found = jinja::FindKey(whole_row_, name);
    return found == nullptr ? Value::None() : *found;
  }
  // There are few, and comparing lengths is faster than hashing.
  const auto column = std::find_if(columns_.begin(), columns_.end(),
                                   [&](const auto& each) { return each.first == name; });
  if (column == columns_.end()) return Value::None();
  auto value = reader_->ReadRow(*column->second.array, row_, column->second.is_json, arena_);
  if (value.ok()) return value;
  return value.status().WithMessage("field '", name, "': ", value.status().message());
}

std::vector<std::string> RowFields::Names() const {
  std::vector<std::string> names;
  if (whole_ != nullptr) {
    for (uint32_t i = 0; i < whole_row_.size; ++i) {
      const jinja::DictEntry& entry = whole_row_.as.entries[i];
      if (!entry.value.Is(ValueKind::kNone)) names.emplace_back(entry.key.Text());
    }
    return names;
  }
  for (const auto& [name, column] : columns_) {
    if (column.array->IsValid(row_)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> RowFields::NamesSaying() const {
  std::vector<std::string> names;
  for (std::string& name : Names()) {
    const auto value = LookAt(name);
    if (value.ok() && SaysSomething(*value)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace easydata::chat
