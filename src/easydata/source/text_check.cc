#include "easydata/source/text_check.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <simdjson.h>

#include <map>
#include <utility>

#include "easydata/json/python_json.h"
#include "easydata/source/row_runs.h"

namespace easydata::source {
namespace {

/// By index into the block's rows; the first bad column of a row counts.
using BadRows = std::map<int64_t, BadRow>;

template <typename ArrayType>
void FindBadText(const arrow::Array& column, const std::string& name, BadRows* bad) {
  const auto& array = static_cast<const ArrayType&>(column);
  if (array.length() == 0 || array.raw_data() == nullptr) return;
  const auto begin = array.value_offset(0);
  const auto end = array.value_offset(array.length());
  const char* data = reinterpret_cast<const char*>(array.raw_data());
  if (simdjson::validate_utf8(data + begin, end - begin)) {
    // All of it is UTF-8; so are the values if none begins inside a character.
    bool whole = true;
    for (int64_t i = 0; i < array.length() && whole; ++i) {
      const auto at = array.value_offset(i);
      whole = at == end || (static_cast<unsigned char>(data[at]) & 0xC0) != 0x80;
    }
    if (whole) return;
  }
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) continue;
    const std::string_view text = array.GetView(i);
    if (simdjson::validate_utf8(text.data(), text.size())) continue;
    BadRow row;
    row.reason = "not UTF-8";
    row.message = "the text in column \"" + name + "\" is not UTF-8 at its byte " +
                  std::to_string(json::FirstBadUtf8Byte(text) + 1);
    row.content = text;
    bad->emplace(i, std::move(row));
  }
}

}  // namespace

Status CheckText(OnError on_error, DecodedBlock* block) {
  BadRows bad;
  for (int c = 0; c < block->rows->num_columns(); ++c) {
    const arrow::Array& column = *block->rows->column(c);
    const std::string& name = block->rows->schema()->field(c)->name();
    if (column.type_id() == arrow::Type::STRING) {
      FindBadText<arrow::StringArray>(column, name, &bad);
    } else if (column.type_id() == arrow::Type::LARGE_STRING) {
      FindBadText<arrow::LargeStringArray>(column, name, &bad);
    }
  }
  if (bad.empty()) return Status::OK();
  std::vector<std::shared_ptr<arrow::RecordBatch>> kept;
  RowRuns runs;
  int64_t i = 0, begin = 0;
  for (const auto& [first, count] : block->runs) {
    for (int64_t row = first; row < first + count && !block->stopped.has_value(); ++row, ++i) {
      const auto found = bad.find(i);
      if (found == bad.end()) {
        runs.Add(row);
        continue;
      }
      kept.push_back(block->rows->Slice(begin, i - begin));
      begin = i + 1;
      found->second.row = row;
      if (on_error == OnError::kRaise) {
        block->stopped = std::move(found->second);
      } else {
        block->bad.push_back(std::move(found->second));
      }
    }
  }
  if (!block->stopped.has_value()) kept.push_back(block->rows->Slice(begin));
  ARROW_ASSIGN_OR_RAISE(block->rows, arrow::ConcatenateRecordBatches(kept));
  block->runs = runs.Take();
  return Status::OK();
}

}  // namespace easydata::source
