#include "easydata/json/json_columns.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <limits>
#include <map>
#include <optional>

#include "easydata/json/json_parse.h"

namespace easydata::json {
namespace {

using simdjson::dom::element;

std::string Show(element value) {
  std::string text = simdjson::minify(value);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

/// The path without the brackets of lists, through which column_types passes.
std::string PathOfField(std::string path) {
  for (size_t at; (at = path.find("[]")) != std::string::npos;) path.erase(at, 2);
  return path;
}

Status Mismatch(element value, const arrow::DataType& type, const std::string& path) {
  const bool are_numbers = arrow::is_integer(type.id()) && value.is_double();
  return Status::TypeError("'", path, "' is ", type.ToString(), " in this output, but here it is ",
                           Show(value), "; give it a type that holds all values: column_types={'",
                           PathOfField(path), "': '", are_numbers ? "float64" : "string", "'}");
}

Status NewKey(const std::string& path) {
  return Status::Invalid("'", path,
                         "' is a key that the rows before did not have; give it a type: "
                         "column_types={'",
                         PathOfField(path), "': 'string'}, say");
}

Status Append(element value, const arrow::DataType& type, const std::string& path,
              arrow::ArrayBuilder* builder);

template <typename Builder>
Status AppendInteger(element value, const arrow::DataType& type, const std::string& path,
                     arrow::ArrayBuilder* builder) {
  using T = typename Builder::value_type;
  int64_t number;
  if (value.get_int64().get(number) == simdjson::SUCCESS) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (number < 0) return Mismatch(value, type, path);
    } else if (number < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
               number > static_cast<int64_t>(std::numeric_limits<T>::max())) {
      return Mismatch(value, type, path);
    }
    return static_cast<Builder*>(builder)->Append(static_cast<T>(number));
  }
  uint64_t large;
  if (std::is_same_v<T, uint64_t> && value.get_uint64().get(large) == simdjson::SUCCESS) {
    return static_cast<Builder*>(builder)->Append(static_cast<T>(large));
  }
  return Mismatch(value, type, path);
}

/// Whether a whole number is another as a double: beyond 2^53 most are.
bool IsRounded(element value, double number) {
  if (value.is_int64()) {
    return number >= 0x1p63 || static_cast<int64_t>(number) != int64_t(value);
  }
  if (!value.is_uint64()) return false;
  return number >= 0x1p64 || static_cast<uint64_t>(number) != uint64_t(value);
}

template <typename Builder>
Status AppendFloat(element value, const arrow::DataType& type, const std::string& path,
                   arrow::ArrayBuilder* builder) {
  double number;
  if (!IsSpecialNumber(value, &number) &&
      (value.get_double().get(number) != simdjson::SUCCESS || IsRounded(value, number))) {
    return Mismatch(value, type, path);
  }
  return static_cast<Builder*>(builder)->Append(static_cast<typename Builder::value_type>(number));
}

/// Whole numbers without a look at their type for each.
template <typename Builder>
Status AppendNumbers(simdjson::dom::array items, const arrow::DataType& type,
                     const std::string& path, arrow::ArrayBuilder* builder) {
  using T = typename Builder::value_type;
  auto* numbers = static_cast<Builder*>(builder);
  ARROW_RETURN_NOT_OK(numbers->Reserve(static_cast<int64_t>(items.size())));
  for (element item : items) {
    int64_t number;
    // What is no such number, or one too many for the count above, goes the long way.
    const bool is_plain = numbers->length() < numbers->capacity() && item.is_int64() &&
                          item.get_int64().get(number) == simdjson::SUCCESS &&
                          number == static_cast<int64_t>(static_cast<T>(number));
    if (is_plain) {
      numbers->UnsafeAppend(static_cast<T>(number));
    } else {
      ARROW_RETURN_NOT_OK(Append(item, type, path + "[]", builder));
    }
  }
  return Status::OK();
}

Status AppendList(element value, const arrow::DataType& type, const std::string& path,
                  arrow::ArrayBuilder* builder) {
  simdjson::dom::array items;
  if (value.get_array().get(items) != simdjson::SUCCESS) return Mismatch(value, type, path);
  auto* list = static_cast<arrow::ListBuilder*>(builder);
  ARROW_RETURN_NOT_OK(list->Append());
  const arrow::DataType& item_type = *type.field(0)->type();
  switch (item_type.id()) {
    case arrow::Type::INT32:
      return AppendNumbers<arrow::Int32Builder>(items, item_type, path, list->value_builder());
    case arrow::Type::INT64:
      return AppendNumbers<arrow::Int64Builder>(items, item_type, path, list->value_builder());
    default:
      break;
  }
  const std::string item_path = path + "[]";
  for (element item : items) {
    ARROW_RETURN_NOT_OK(Append(item, item_type, item_path, list->value_builder()));
  }
  return Status::OK();
}

Status AppendStruct(element value, const arrow::DataType& type, const std::string& path,
                    arrow::ArrayBuilder* builder) {
  simdjson::dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return Mismatch(value, type, path);
  auto* out = static_cast<arrow::StructBuilder*>(builder);
  const auto& struct_type = static_cast<const arrow::StructType&>(type);
  ARROW_RETURN_NOT_OK(out->Append());
  std::vector<std::optional<element>> values(struct_type.num_fields());
  for (auto [key, item] : object) {
    const int field = struct_type.GetFieldIndex(std::string(key));
    if (field < 0) return NewKey(path + "." + std::string(key));
    values[field] = item;
  }
  for (int field = 0; field < struct_type.num_fields(); ++field) {
    arrow::ArrayBuilder* child = out->field_builder(field);
    if (!values[field].has_value()) {
      ARROW_RETURN_NOT_OK(child->AppendNull());
    } else {
      ARROW_RETURN_NOT_OK(Append(*values[field], *struct_type.field(field)->type(),
                                 path + "." + struct_type.field(field)->name(), child));
    }
  }
  return Status::OK();
}

Status Append(element value, const arrow::DataType& type, const std::string& path,
              arrow::ArrayBuilder* builder) {
  if (value.is_null()) return builder->AppendNull();
  switch (type.id()) {
    case arrow::Type::BOOL: {
      bool flag;
      if (value.get_bool().get(flag) != simdjson::SUCCESS) return Mismatch(value, type, path);
      return static_cast<arrow::BooleanBuilder*>(builder)->Append(flag);
    }
    case arrow::Type::INT8:
      return AppendInteger<arrow::Int8Builder>(value, type, path, builder);
    case arrow::Type::INT16:
      return AppendInteger<arrow::Int16Builder>(value, type, path, builder);
    case arrow::Type::INT32:
      return AppendInteger<arrow::Int32Builder>(value, type, path, builder);
    case arrow::Type::INT64:
      return AppendInteger<arrow::Int64Builder>(value, type, path, builder);
    case arrow::Type::UINT8:
      return AppendInteger<arrow::UInt8Builder>(value, type, path, builder);
    case arrow::Type::UINT16:
      return AppendInteger<arrow::UInt16Builder>(value, type, path, builder);
    case arrow::Type::UINT32:
      return AppendInteger<arrow::UInt32Builder>(value, type, path, builder);
    case arrow::Type::UINT64:
      return AppendInteger<arrow::UInt64Builder>(value, type, path, builder);
    case arrow::Type::FLOAT:
      return AppendFloat<arrow::FloatBuilder>(value, type, path, builder);
    case arrow::Type::DOUBLE:
      return AppendFloat<arrow::DoubleBuilder>(value, type, path, builder);
    case arrow::Type::STRING: {
      std::string_view text;
      if (value.get_string().get(text) != simdjson::SUCCESS) return Mismatch(value, type, path);
      return static_cast<arrow::StringBuilder*>(builder)->Append(text);
    }
    case arrow::Type::LIST:
      return AppendList(value, type, path, builder);
    case arrow::Type::STRUCT:
      return AppendStruct(value, type, path, builder);
    default:
      return Mismatch(value, type, path);
  }
}

}  // namespace

struct JsonColumnBuilder::Impl {
  std::vector<JsonColumnSpec> columns;
  bool closed;
  std::map<std::string, size_t, std::less<>> index;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders;
  std::vector<std::optional<element>> values;
  std::vector<size_t> expected;  // the column of each key of the row before
  Status made;
  JsonParser parser;

  /// The column of a row's key number `number`, if there is one: rows mostly have their keys in one
  /// order.
  std::optional<size_t> ColumnOf(std::string_view key, size_t number) {
    if (number < expected.size() && columns[expected[number]].name == key) return expected[number];
    const auto found = index.find(key);
    if (found == index.end()) return std::nullopt;
    if (number == expected.size()) expected.push_back(found->second);
    if (number < expected.size()) expected[number] = found->second;
    return found->second;
  }

  Status AppendTo(size_t column, element value) {
    const JsonColumnSpec& spec = columns[column];
    if (spec.type != nullptr) return Append(value, *spec.type, spec.name, builders[column].get());
    return static_cast<arrow::StringBuilder*>(builders[column].get())
        ->Append(std::string(simdjson::minify(value)));
  }
};

JsonColumnBuilder::JsonColumnBuilder(std::vector<JsonColumnSpec> columns, bool closed)
    : impl_(std::make_unique<Impl>()) {
  impl_->columns = std::move(columns);
  impl_->closed = closed;
  for (size_t i = 0; i < impl_->columns.size(); ++i) {
    const JsonColumnSpec& spec = impl_->columns[i];
    impl_->index[spec.name] = i;
    auto builder = arrow::MakeBuilder(spec.type == nullptr ? arrow::utf8() : spec.type);
    if (!builder.ok()) impl_->made = builder.status();
    impl_->builders.push_back(builder.ok() ? std::move(*builder) : nullptr);
  }
  impl_->values.resize(impl_->columns.size());
}

JsonColumnBuilder::~JsonColumnBuilder() = default;

Status JsonColumnBuilder::AppendRow(std::string_view json) {
  ARROW_RETURN_NOT_OK(impl_->made);
  ARROW_ASSIGN_OR_RAISE(const element row, impl_->parser.Parse(json));
  return AppendRow(row);
}

Status JsonColumnBuilder::AppendRow(const element& row) {
  ARROW_RETURN_NOT_OK(impl_->made);
  simdjson::dom::object object;
  if (row.get_object().get(object) != simdjson::SUCCESS) {
    return Status::Invalid("the row is not a JSON object");
  }
  std::fill(impl_->values.begin(), impl_->values.end(), std::nullopt);
  size_t number = 0;
  for (auto [key, value] : object) {
    const std::optional<size_t> column = impl_->ColumnOf(key, number++);
    if (column.has_value()) {
      impl_->values[*column] = value;  // of a key that comes twice the last value counts
    } else if (impl_->closed) {
      return NewKey(std::string(key));
    }
  }
  for (size_t i = 0; i < impl_->values.size(); ++i) {
    const auto& value = impl_->values[i];
    ARROW_RETURN_NOT_OK(value.has_value() ? impl_->AppendTo(i, *value)
                                          : impl_->builders[i]->AppendNull());
  }
  return Status::OK();
}

Status JsonColumnBuilder::AppendValue(std::string_view json) {
  ARROW_RETURN_NOT_OK(impl_->made);
  ARROW_ASSIGN_OR_RAISE(const element value, impl_->parser.Parse(json));
  return impl_->AppendTo(0, value);
}

Status JsonColumnBuilder::AppendValue(const element& value) {
  ARROW_RETURN_NOT_OK(impl_->made);
  return impl_->AppendTo(0, value);
}

Status JsonColumnBuilder::AppendNull() {
  ARROW_RETURN_NOT_OK(impl_->made);
  for (auto& builder : impl_->builders) ARROW_RETURN_NOT_OK(builder->AppendNull());
  return Status::OK();
}

Result<std::vector<std::shared_ptr<arrow::Array>>> JsonColumnBuilder::Finish() {
  ARROW_RETURN_NOT_OK(impl_->made);
  std::vector<std::shared_ptr<arrow::Array>> out;
  for (auto& builder : impl_->builders) {
    ARROW_ASSIGN_OR_RAISE(auto array, builder->Finish());
    out.push_back(std::move(array));
  }
  return out;
}

}  // namespace easydata::json
