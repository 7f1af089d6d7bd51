#include "easydata/stream/row_tokens.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <simdjson.h>

#include <numeric>

#include "easydata/json/json_column.h"
#include "easydata/stream/row_error.h"

namespace easydata {
namespace {

namespace ondemand = simdjson::ondemand;

/// The values of a list; 0 of null, and an error for anything else.
simdjson::error_code CountValues(ondemand::value value, int64_t* count) {
  *count = 0;
  ondemand::json_type type;
  if (const auto error = value.type().get(type)) return error;
  if (type == ondemand::json_type::null) return simdjson::SUCCESS;
  ondemand::array list;
  if (const auto error = value.get_array().get(list)) return error;
  size_t values = 0;
  if (const auto error = list.count_elements().get(values)) return error;
  *count = static_cast<int64_t>(values);
  return simdjson::SUCCESS;
}

/// The same for key `column` of an object, the last of that name as in Python.
simdjson::error_code CountField(ondemand::document& row, const std::string& column,
                                int64_t* count) {
  bool found = false;
  ondemand::object object;
  if (const auto error = row.get_object().get(object)) return error;
  for (auto field : object) {
    std::string_view key;
    if (const auto error = field.unescaped_key().get(key)) return error;
    if (key != column) continue;
    found = true;
    ondemand::value value;
    if (const auto error = field.value().get(value)) return error;
    if (const auto error = CountValues(value, count)) return error;
  }
  return found ? simdjson::SUCCESS : simdjson::NO_SUCH_FIELD;
}

Result<std::vector<int64_t>> JsonTokens(const Batch& batch, const arrow::StringArray& texts,
                                        const std::string& column, bool whole_rows,
                                        const std::vector<int64_t>& rows) {
  std::vector<int64_t> counts;
  counts.reserve(rows.size());
  ondemand::parser parser;
  for (const int64_t i : rows) {
    int64_t& tokens = counts.emplace_back(0);
    if (texts.IsNull(i)) continue;
    const simdjson::padded_string text(texts.GetView(i));
    ondemand::document document;
    simdjson::error_code error = parser.iterate(text).get(document);
    if (!error && whole_rows) {
      error = CountField(document, column, &tokens);
    } else if (!error) {
      bool is_null = false;
      size_t values = 0;
      error = document.is_null().get(is_null);
      if (!error && !is_null) error = document.count_elements().get(values);
      tokens = static_cast<int64_t>(values);
    }
    if (error == simdjson::MEMALLOC) {
      return RowError(batch.AddressOf(i), "there is no memory to count its tokens",
                      arrow::StatusCode::OutOfMemory);
    }
    if (error) {
      return RowError(batch.AddressOf(i),
                      "what counts tokens needs lists of tokens in column \"" + column +
                          "\"; tokenize before; here is none",
                      arrow::StatusCode::TypeError);
    }
  }
  return counts;
}

template <typename Lists>
std::vector<int64_t> LengthsOf(const arrow::Array& column, const std::vector<int64_t>& rows) {
  const auto& lists = static_cast<const Lists&>(column);
  std::vector<int64_t> lengths;
  lengths.reserve(rows.size());
  for (const int64_t i : rows) lengths.push_back(lists.IsNull(i) ? 0 : lists.value_length(i));
  return lengths;
}

}  // namespace

bool MayHaveTokens(const arrow::Schema& schema, const std::string& column) {
  if (json::RowColumnIndex(schema) >= 0) return true;
  const auto field = schema.GetFieldByName(column);
  if (field == nullptr) return false;
  const auto id = field->type()->id();
  return id == arrow::Type::LIST || id == arrow::Type::LARGE_LIST ||
         id == arrow::Type::FIXED_SIZE_LIST || json::IsJsonField(*field);
}

Result<std::vector<int64_t>> RowTokens(const Batch& batch, const std::string& column) {
  std::vector<int64_t> all(batch.num_rows());
  std::iota(all.begin(), all.end(), 0);
  return RowTokens(batch, column, all);
}

Result<std::vector<int64_t>> RowTokens(const Batch& batch, const std::string& column,
                                       const std::vector<int64_t>& rows) {
  const arrow::Schema& schema = *batch.rows->schema();
  if (const arrow::StringArray* const whole = json::WholeRows(*batch.rows)) {
    return JsonTokens(batch, *whole, column, /*whole_rows=*/true, rows);
  }
  const int index = schema.GetFieldIndex(column);
  if (index < 0) return std::vector<int64_t>();
  const arrow::Array& values = *batch.rows->column(index);
  if (json::IsJsonField(*schema.field(index))) {
    return JsonTokens(batch, static_cast<const arrow::StringArray&>(values), column,
                      /*whole_rows=*/false, rows);
  }
  switch (values.type_id()) {
    case arrow::Type::LIST:
      return LengthsOf<arrow::ListArray>(values, rows);
    case arrow::Type::LARGE_LIST:
      return LengthsOf<arrow::LargeListArray>(values, rows);
    case arrow::Type::FIXED_SIZE_LIST:
      return LengthsOf<arrow::FixedSizeListArray>(values, rows);
    default:
      return std::vector<int64_t>();
  }
}

}  // namespace easydata
