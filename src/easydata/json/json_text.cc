#include "easydata/json/json_text.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

#include "easydata/json/bounded_json.h"
#include "easydata/json/json_column.h"

namespace easydata::json {
namespace {

template <typename T>
void AppendIntegerText(T value, std::string* out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out->append(digits, end.ptr);
}

/// How a column's values are written.
struct Writing {
  std::string* out;
  /// Numbers that JSON does not have become null and are counted here; null: as Python does.
  int64_t* nulls = nullptr;
};

void AppendFloatText(double value, const Writing& writing) {
  std::string* const out = writing.out;
  if (writing.nulls != nullptr && !std::isfinite(value)) {
    ++*writing.nulls;
    *out += "null";
    return;
  }
  if (std::isnan(value)) {
    *out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    *out += value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  const std::string_view text(digits, end.ptr - digits);
  *out += text;
  // A float must stay a float when it is read back.
  if (text.find_first_of(".e") == std::string_view::npos) *out += ".0";
}

Status AppendValue(const arrow::Array& array, int64_t i, const Writing& writing);

Status AppendRange(const arrow::Array& values, int64_t begin, int64_t end, const Writing& writing) {
  std::string* const out = writing.out;
  *out += '[';
  if (values.type_id() == arrow::Type::INT32 && values.null_count() == 0) {
    const int32_t* data = static_cast<const arrow::Int32Array&>(values).raw_values();
    for (int64_t k = begin; k < end; ++k) {
      if (k > begin) *out += ',';
      AppendIntegerText(data[k], out);
    }
  } else {
    for (int64_t k = begin; k < end; ++k) {
      if (k > begin) *out += ',';
      ARROW_RETURN_NOT_OK(AppendValue(values, k, writing));
    }
  }
  *out += ']';
  return Status::OK();
}

Status AppendStructText(const arrow::StructArray& array, int64_t i, const Writing& writing) {
  std::string* const out = writing.out;
  *out += '{';
  for (int f = 0; f < array.num_fields(); ++f) {
    if (f > 0) *out += ',';
    AppendJsonString(array.struct_type()->field(f)->name(), out);
    *out += ':';
    ARROW_RETURN_NOT_OK(AppendValue(*array.field(f), i, writing));
  }
  *out += '}';
  return Status::OK();
}

template <typename ArrayType>
void AppendIntegerOf(const arrow::Array& array, int64_t i, std::string* out) {
  AppendIntegerText(static_cast<const ArrayType&>(array).Value(i), out);
}

template <typename ListType>
Status AppendListOf(const arrow::Array& array, int64_t i, const Writing& writing) {
  const auto& list = static_cast<const ListType&>(array);
  return AppendRange(*list.values(), list.value_offset(i),
                     list.value_offset(i) + list.value_length(i), writing);
}

Status AppendValue(const arrow::Array& array, int64_t i, const Writing& writing) {
  std::string* const out = writing.out;
  if (array.IsNull(i)) {
    *out += "null";
    return Status::OK();
  }
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      *out += static_cast<const arrow::BooleanArray&>(array).Value(i) ? "true" : "false";
      return Status::OK();
    case arrow::Type::INT8:
      AppendIntegerOf<arrow::Int8Array>(array, i, out);
      return Status::OK();
    case arrow::Type::INT16:
      AppendIntegerOf<arrow::Int16Array>(array, i, out);
      return Status::OK();
    case arrow::Type::INT32:
      AppendIntegerOf<arrow::Int32Array>(array, i, out);
      return Status::OK();
    case arrow::Type::INT64:
      AppendIntegerOf<arrow::Int64Array>(array, i, out);
      return Status::OK();
    case arrow::Type::UINT8:
      AppendIntegerOf<arrow::UInt8Array>(array, i, out);
      return Status::OK();
    case arrow::Type::UINT16:
      AppendIntegerOf<arrow::UInt16Array>(array, i, out);
      return Status::OK();
    case arrow::Type::UINT32:
      AppendIntegerOf<arrow::UInt32Array>(array, i, out);
      return Status::OK();
    case arrow::Type::UINT64:
      AppendIntegerOf<arrow::UInt64Array>(array, i, out);
      return Status::OK();
    case arrow::Type::FLOAT:
      AppendFloatText(static_cast<const arrow::FloatArray&>(array).Value(i), writing);
      return Status::OK();
    case arrow::Type::DOUBLE:
      AppendFloatText(static_cast<const arrow::DoubleArray&>(array).Value(i), writing);
      return Status::OK();
    case arrow::Type::STRING:
      AppendJsonString(static_cast<const arrow::StringArray&>(array).GetView(i), out);
      return Status::OK();
    case arrow::Type::LARGE_STRING:
      AppendJsonString(static_cast<const arrow::LargeStringArray&>(array).GetView(i), out);
      return Status::OK();
    case arrow::Type::LIST:
      return AppendListOf<arrow::ListArray>(array, i, writing);
    case arrow::Type::LARGE_LIST:
      return AppendListOf<arrow::LargeListArray>(array, i, writing);
    case arrow::Type::FIXED_SIZE_LIST:
      return AppendListOf<arrow::FixedSizeListArray>(array, i, writing);
    case arrow::Type::STRUCT:
      return AppendStructText(static_cast<const arrow::StructArray&>(array), i, writing);
    case arrow::Type::HALF_FLOAT:
    default: {
      ARROW_ASSIGN_OR_RAISE(auto scalar, array.GetScalar(i));
      AppendJsonString(scalar->ToString(), out);
      return Status::OK();
    }
  }
}

/// Whether all that lists and structs of a type hold in the end is as `is_fit` says.
bool HoldsOnly(const arrow::DataType& type, bool (*is_fit)(const arrow::DataType&)) {
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::STRUCT:
      return std::all_of(type.fields().begin(), type.fields().end(),
                         [&](const auto& child) { return HoldsOnly(*child->type(), is_fit); });
    default:
      return is_fit(type);
  }
}

bool IsJsonValue(const arrow::DataType& type) {
  return type.id() == arrow::Type::NA || arrow::is_string(type.id()) ||
         type.id() == arrow::Type::BOOL || arrow::is_integer(type.id()) ||
         type.id() == arrow::Type::FLOAT || type.id() == arrow::Type::DOUBLE;
}

bool HasJsonForm(const arrow::DataType& type) {
  return HoldsOnly(type, [](const arrow::DataType& value) {
    return IsJsonValue(value) || arrow::is_temporal(value.id()) || arrow::is_decimal(value.id());
  });
}

/// JSON text as it is, on one line: a line break in it can only be white space between values.
void AppendRaw(std::string_view text, std::string* out) {
  if (text.find_first_of("\r\n") == std::string_view::npos) {
    *out += text;
    return;
  }
  for (char c : text) *out += c == '\n' || c == '\r' ? ' ' : c;
}

/// The name in a key of JSON text, whose escapes only a reader of JSON knows.
std::string KeyOf(std::string_view key) {
  const auto name = ParseBoundedJson(std::string(key), {1, 1});
  return name.ok() && name->is_string() ? name->get<std::string>() : std::string(key);
}

/// The text with null in place of the numbers that JSON does not have, which are counted for
/// `column`, or where that is null, for the row's key that they are under.
std::string WithNulls(std::string_view text, const std::string* column, NonFiniteCounts* nulls) {
  std::string out;
  std::string_view key;
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      const size_t begin = i++;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      i = std::min(i + 1, text.size());
      out.append(text, begin, i - begin);
      const size_t next = text.find_first_not_of(" \t\r\n", i);
      if (depth == 1 && next != std::string_view::npos && text[next] == ':') {
        key = text.substr(begin, i - begin);
      }
      continue;
    }
    size_t size = 0;
    for (const std::string_view number : {"NaN", "Infinity", "-Infinity"}) {
      if (text.substr(i).starts_with(number)) size = number.size();
    }
    if (size > 0) {
      out += "null";
      ++(*nulls)[column != nullptr ? *column : KeyOf(key)];
      i += size;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    out += c;
    ++i;
  }
  return out;
}

/// JSON text as it is, but for numbers that JSON does not have where these are to be null.
void AppendText(std::string_view text, const std::string* column, NonFiniteCounts* nulls,
                std::string* out) {
  const bool may_have = nulls != nullptr && (text.find("NaN") != std::string_view::npos ||
                                             text.find("Infinity") != std::string_view::npos);
  AppendRaw(may_have ? WithNulls(text, column, nulls) : text, out);
}

/// The first byte from `begin` on that a JSON string holds in escaped form only; the text's size
/// where there is none. Looks at eight bytes at a time.
size_t FirstEscaped(std::string_view text, size_t begin) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  constexpr uint64_t kHighs = 0x8080808080808080u;
  size_t i = begin;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    // A byte of these has its high bit set where the byte is below 0x20, a quote, a backslash; the
    // bytes behind the first such one may have it by a borrow.
    const uint64_t control = word - kOnes * 0x20;
    const uint64_t quote = (word ^ kOnes * '"') - kOnes;
    const uint64_t backslash = (word ^ kOnes * '\\') - kOnes;
    if (((control | quote | backslash) & ~word & kHighs) != 0) break;
  }
  for (; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == '"' || c == '\\') break;
  }
  return i;
}

}  // namespace

bool IsJsonType(const arrow::DataType& type) { return HoldsOnly(type, IsJsonValue); }

Status CheckJsonType(const arrow::Field& field) {
  if (HasJsonForm(*field.type())) return Status::OK();
  return Status::Invalid("column '", field.name(), "': values of type ", field.type()->ToString(),
                         " have no JSON form; write format parquet or arrow, or drop the column");
}

void AppendJsonInteger(int64_t value, std::string* out) { AppendIntegerText(value, out); }

void AppendFloatRepr(double number, std::string* out) {
  char text[32];
  const char* const end =
      std::to_chars(text, std::end(text), number, std::chars_format::scientific).ptr;
  // [-]d[.ddd]e±dd
  const char* digits = text;
  if (*digits == '-') out->push_back(*digits++);
  const char* const e = std::find(digits, end, 'e');
  int exponent = 0;
  std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
  if (exponent < -4 || exponent >= 16) {
    out->append(digits, end);
    return;
  }
  const char* const rest = std::min(digits + 2, e);  // behind the point
  const int more = static_cast<int>(e - rest);
  if (exponent < 0) {
    *out += "0.";
    out->append(-exponent - 1, '0');
    out->push_back(*digits);
    out->append(rest, e);
    return;
  }
  out->push_back(*digits);
  out->append(rest, std::min(more, exponent));
  out->append(std::max(exponent - more, 0), '0');
  out->push_back('.');
  if (more > exponent) {
    out->append(rest + exponent, e);
  } else {
    out->push_back('0');
  }
}

void AppendJsonString(std::string_view text, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  *out += '"';
  size_t start = 0;
  for (size_t i = FirstEscaped(text, 0); i < text.size(); i = FirstEscaped(text, i + 1)) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    out->append(text, start, i - start);
    start = i + 1;
    switch (c) {
      case '"':
        *out += "\\\"";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      default:
        *out += "\\u00";
        *out += kDigits[c >> 4];
        *out += kDigits[c & 15];
    }
  }
  out->append(text, start, text.size() - start);
  *out += '"';
}

Status AppendJsonValue(const arrow::Array& array, int64_t i, std::string* out) {
  return AppendValue(array, i, {out});
}

Status AppendJsonLines(const arrow::RecordBatch& batch, std::string* out, NonFiniteCounts* nulls) {
  struct Column {
    const arrow::Array* array;
    std::string key;
    bool raw;
    std::string name;
    int64_t nulls = 0;
  };
  std::vector<Column> columns;
  const arrow::StringArray* whole_rows = WholeRows(batch);
  for (int c = 0; c < batch.num_columns(); ++c) {
    if (IsRowField(*batch.schema()->field(c))) continue;
    Column column{
        batch.column(c).get(), {}, IsJsonField(*batch.schema()->field(c)), batch.column_name(c)};
    AppendJsonString(batch.column_name(c), &column.key);
    column.key += ':';
    columns.push_back(std::move(column));
  }
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    bool first = true;
    if (whole_rows != nullptr) {
      AppendText(whole_rows->GetView(i), nullptr, nulls, out);
      // Columns beside the row are added to it: of a key that comes twice the last value counts.
      if (!columns.empty()) {
        out->resize(out->find_last_of('}'));
        first = out->back() == '{' || out->find_last_not_of(" \t") == out->rfind('{');
      }
    } else {
      *out += '{';
    }
    for (Column& column : columns) {
      if (column.raw && column.array->IsNull(i)) continue;
      if (!first) *out += ',';
      first = false;
      *out += column.key;
      if (column.raw) {
        AppendText(static_cast<const arrow::StringArray&>(*column.array).GetView(i), &column.name,
                   nulls, out);
      } else {
        ARROW_RETURN_NOT_OK(
            AppendValue(*column.array, i, {out, nulls == nullptr ? nullptr : &column.nulls}));
      }
    }
    *out += whole_rows != nullptr && columns.empty() ? "\n" : "}\n";
  }
  for (const Column& column : columns) {
    if (column.nulls > 0) (*nulls)[column.name] += column.nulls;
  }
  return Status::OK();
}

}  // namespace easydata::json
