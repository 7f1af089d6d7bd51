#include "easydata/chat/column_values.h"

#include <arrow/array.h>
#include <arrow/type.h>
#include <simdjson.h>

#include <vector>

#include "easydata/base/lower_case.h"
#include "easydata/chat/key_index.h"
#include "easydata/jinja/unicode.h"
#include "easydata/json/dom_parse.h"

namespace easydata::chat {
namespace {

namespace dom = simdjson::dom;
using jinja::Arena;
using jinja::Value;

Value FromJson(const dom::element& element, Arena* arena) {
  switch (element.type()) {
    case dom::element_type::STRING:
      return Value::String(arena->Copy(element.get_string().value_unsafe()));
    case dom::element_type::INT64:
      return Value::Integer(element.get_int64().value_unsafe());
    case dom::element_type::UINT64: {
      const std::string digits = std::to_string(element.get_uint64().value_unsafe());
      return Value::BigInteger(arena->Copy(digits));
    }
    case dom::element_type::DOUBLE:
      return Value::Float(element.get_double().value_unsafe());
    case dom::element_type::BOOL:
      return Value::Boolean(element.get_bool().value_unsafe());
    case dom::element_type::ARRAY: {
      const dom::array array = element.get_array().value_unsafe();
      size_t count = 0;
      for ([[maybe_unused]] const dom::element item : array) ++count;
      Value* items = arena->Array<Value>(count);
      size_t i = 0;
      for (const dom::element item : array) items[i++] = FromJson(item, arena);
      return Value::List(items, count);
    }
    case dom::element_type::OBJECT: {
      const dom::object object = element.get_object().value_unsafe();
      size_t most = 0;
      for ([[maybe_unused]] const dom::key_value_pair member : object) ++most;
      auto* entries = arena->Array<jinja::DictEntry>(most);
      size_t count = 0;
      KeyIndex keys(most);
      for (const dom::key_value_pair member : object) {
        const Value value = FromJson(member.value, arena);
        // Of a key that comes twice the last value stays, where the first one is.
        const size_t at = keys.Find(member.key, entries, count);
        if (at == count) entries[count++].key = Value::String(arena->Copy(member.key));
        entries[at].value = value;
      }
      return Value::Dict(entries, count);
    }
    default:
      return Value::None();
  }
}

template <typename ArrayType>
Value TextAt(const arrow::Array& array, int64_t i) {
  return Value::String(static_cast<const ArrayType&>(array).GetView(i));
}

template <typename ArrayType>
Value NumberAt(const arrow::Array& array, int64_t i) {
  return Value::Integer(static_cast<int64_t>(static_cast<const ArrayType&>(array).Value(i)));
}

/// Deeper values are refused.
constexpr int kMostNested = 100;

/// A member of structs; it, and its name, live as long as they do.
struct StructField {
  const arrow::Array* column;
  std::string_view name;
};

}  // namespace

struct ValueReader::Impl {
  dom::parser parser;
  std::vector<StructField> fields;  // of the structs that are being read

  Result<Value> At(const arrow::Array& array, int64_t i, Arena* arena, int depth);
  Result<Value> Items(const arrow::Array& values, int64_t begin, int64_t end, Arena* arena,
                      int depth);
  Status Structs(const arrow::StructArray& rows, int64_t begin, int64_t end, Arena* arena,
                 int depth, Value* out);
};

/// Reads structs from number `begin` to before `end`; null members are left out.
Status ValueReader::Impl::Structs(const arrow::StructArray& rows, int64_t begin, int64_t end,
                                  Arena* arena, int depth, Value* out) {
  // Asking for a member takes a lock: once a list, not once an item. Values within may add more.
  const size_t first = fields.size();
  const auto count = static_cast<size_t>(rows.num_fields());
  for (size_t i = 0; i < count; ++i) {
    const int number = static_cast<int>(i);
    fields.push_back({rows.field(number).get(), rows.type()->field(number)->name()});
  }
  Status status;
  for (int64_t row = begin; row < end && status.ok(); ++row, ++out) {
    *out = Value::None();
    if (rows.IsNull(row)) continue;
    auto* entries = arena->Array<jinja::DictEntry>(count);
    size_t present = 0;
    for (size_t i = 0; i < count; ++i) {
      const StructField field = fields[first + i];
      // Not flattened: whether the struct itself is null is known here.
      if (field.column->IsNull(row)) continue;
      auto value = At(*field.column, row, arena, depth + 1);
      status = value.status();
      if (!status.ok()) break;
      entries[present].key = Value::String(field.name);
      entries[present++].value = *value;
    }
    *out = Value::Dict(entries, present);
  }
  fields.resize(first);
  return status;
}

Result<Value> ValueReader::Impl::Items(const arrow::Array& values, int64_t begin, int64_t end,
                                       Arena* arena, int depth) {
  const auto count = static_cast<size_t>(end - begin);
  Value* items = arena->Array<Value>(count);
  if (values.type_id() == arrow::Type::STRUCT && depth <= kMostNested) {
    const auto& rows = static_cast<const arrow::StructArray&>(values);
    ARROW_RETURN_NOT_OK(Structs(rows, begin, end, arena, depth, items));
    return Value::List(items, count);
  }
  for (size_t i = 0; i < count; ++i) {
    ARROW_ASSIGN_OR_RAISE(items[i], At(values, begin + static_cast<int64_t>(i), arena, depth));
  }
  return Value::List(items, count);
}

Result<Value> ValueReader::Impl::At(const arrow::Array& array, int64_t i, Arena* arena, int depth) {
  if (array.IsNull(i)) return Value::None();
  if (depth > kMostNested) return Status::NotImplemented("values nested more than 100 deep");
  switch (array.type_id()) {
    case arrow::Type::STRING:
      return TextAt<arrow::StringArray>(array, i);
    case arrow::Type::LARGE_STRING:
      return TextAt<arrow::LargeStringArray>(array, i);
    case arrow::Type::STRING_VIEW: {
      // Short texts lie in the views, which the array keeps.
      return Value::String(
          arena->Copy(static_cast<const arrow::StringViewArray&>(array).GetView(i)));
    }
    case arrow::Type::BOOL:
      return Value::Boolean(static_cast<const arrow::BooleanArray&>(array).Value(i));
    case arrow::Type::INT8:
      return NumberAt<arrow::Int8Array>(array, i);
    case arrow::Type::INT16:
      return NumberAt<arrow::Int16Array>(array, i);
    case arrow::Type::INT32:
      return NumberAt<arrow::Int32Array>(array, i);
    case arrow::Type::INT64:
      return NumberAt<arrow::Int64Array>(array, i);
    case arrow::Type::UINT8:
      return NumberAt<arrow::UInt8Array>(array, i);
    case arrow::Type::UINT16:
      return NumberAt<arrow::UInt16Array>(array, i);
    case arrow::Type::UINT32:
      return NumberAt<arrow::UInt32Array>(array, i);
    case arrow::Type::FLOAT:
      return Value::Float(static_cast<const arrow::FloatArray&>(array).Value(i));
    case arrow::Type::DOUBLE:
      return Value::Float(static_cast<const arrow::DoubleArray&>(array).Value(i));
    case arrow::Type::NA:
      return Value::None();
    case arrow::Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      return At(*coded.dictionary(), coded.GetValueIndex(i), arena, depth);
    }
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      return Items(*list.values(), list.value_offset(i), list.value_offset(i + 1), arena,
                   depth + 1);
    }
    case arrow::Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(array);
      return Items(*list.values(), list.value_offset(i), list.value_offset(i + 1), arena,
                   depth + 1);
    }
    case arrow::Type::STRUCT: {
      const auto& rows = static_cast<const arrow::StructArray&>(array);
      Value value = Value::None();
      ARROW_RETURN_NOT_OK(Structs(rows, i, i + 1, arena, depth, &value));
      return value;
    }
    default:
      return Status::NotImplemented("a column of type ", array.type()->ToString(),
                                    " for a template");
  }
}

ValueReader::ValueReader() : impl_(std::make_unique<Impl>()) {}
ValueReader::~ValueReader() = default;

Result<Value> ValueReader::ReadRow(const arrow::Array& column, int64_t i, bool is_json,
                                   Arena* arena) {
  ARROW_ASSIGN_OR_RAISE(const Value value, impl_->At(column, i, arena, 0));
  if (!is_json || !value.IsString()) return value;
  return ReadJson(value.Text(), arena);
}

Result<Value> ValueReader::ReadJson(std::string_view text, Arena* arena) {
  dom::element element;
  const auto error = json::ParseDom(&impl_->parser, text, /*is_padded=*/false, &element);
  if (error == simdjson::MEMALLOC) return Status::OutOfMemory("there is no memory to parse JSON");
  if (error != simdjson::SUCCESS) {
    return Status::NotImplemented("not JSON as the standard has it: ",
                                  simdjson::error_message(error));
  }
  return FromJson(element, arena);
}

Result<Value> ValueReader::Decoded(const Value& value, Arena* arena) {
  if (!value.IsString()) return value;
  const std::string_view text = jinja::StripStart(value.Text());
  if (text.empty() || (text[0] != '[' && text[0] != '{')) return value;
  return ReadJson(value.Text(), arena);
}

Result<std::string> ValueReader::Lowercased(std::string_view text) {
  if (!jinja::IsAscii(text)) return Status::NotImplemented("a name that is not ASCII");
  return LowerCase(text);
}

}  // namespace easydata::chat
