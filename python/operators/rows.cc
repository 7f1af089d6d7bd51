#include "operators/rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/visit_type_inline.h>

#include <utility>
#include <vector>

#include "easydata/json/json_column.h"
#include "easydata/json/json_elements.h"
#include "easydata/json/typed_text.h"
#include "easydata/stream/rest_column.h"
#include "operators/arrow_exchange.h"
#include "operators/json_values.h"
#include "operators/limited_api.h"
#include "operators/python_text.h"

namespace easydata {
namespace {

/// Gives the values of one column as new references; null with a Python exception set on failure.
class ColumnValues {
 public:
  virtual ~ColumnValues() = default;
  /// Called before values begin .. begin + length are got, and no others.
  virtual void Begin(int64_t begin, int64_t length) {}
  virtual PyObject* Get(int64_t i) = 0;
};
using ValuesPtr = std::unique_ptr<ColumnValues>;

PyObject* NewNone() { return Py_NewRef(Py_None); }

class NullValues : public ColumnValues {
 public:
  PyObject* Get(int64_t) override { return NewNone(); }
};

/// A value of a number, text or bytes.
template <typename ArrayType>
PyObject* MakeValue(const ArrayType& array, int64_t i) {
  using Type = typename ArrayType::TypeClass;
  if constexpr (arrow::is_boolean_type<Type>::value) {
    return Py_NewRef(array.Value(i) ? Py_True : Py_False);
  } else if constexpr (arrow::is_string_type<Type>::value) {
    return TextToPython(array.GetView(i));
  } else if constexpr (arrow::is_base_binary_type<Type>::value) {
    const std::string_view view = array.GetView(i);
    return PyBytes_FromStringAndSize(view.data(), static_cast<Py_ssize_t>(view.size()));
  } else if constexpr (arrow::is_floating_type<Type>::value) {
    return PyFloat_FromDouble(array.Value(i));
  } else if constexpr (arrow::is_signed_integer_type<Type>::value) {
    return PyLong_FromLongLong(array.Value(i));
  } else {
    return PyLong_FromUnsignedLongLong(array.Value(i));
  }
}

template <typename ArrayType>
class PlainValues : public ColumnValues {
 public:
  explicit PlainValues(const arrow::Array& array)
      : array_(static_cast<const ArrayType&>(array)), has_nulls_(array.null_count() > 0) {}

  PyObject* Get(int64_t i) override {
    if (has_nulls_ && array_.IsNull(i)) return NewNone();
    return MakeValue(array_, i);
  }

 private:
  const ArrayType& array_;
  const bool has_nulls_;
};

/// Exotic types: what pyarrow makes of them, some rows at a time.
class ForeignValues : public ColumnValues {
 public:
  explicit ForeignValues(std::shared_ptr<arrow::Array> array) : array_(std::move(array)) {}
  void Begin(int64_t begin, int64_t length) override {
    begin_ = begin;
    values_ = ExportArray(array_->Slice(begin, length)).attr("to_pylist")();
  }
  PyObject* Get(int64_t i) override {
    return Py_NewRef(PyList_GET_ITEM(values_.ptr(), i - begin_));
  }

 private:
  const std::shared_ptr<arrow::Array> array_;
  int64_t begin_ = 0;
  nb::object values_;  // from `begin_` on
};

template <typename ListArrayType>
class ListValues : public ColumnValues {
 public:
  ListValues(const arrow::Array& array, ValuesPtr items)
      : array_(static_cast<const ListArrayType&>(array)), items_(std::move(items)) {}
  PyObject* Get(int64_t i) override {
    if (array_.IsNull(i)) return NewNone();
    const int64_t begin = array_.value_offset(i);
    const int64_t length = array_.value_length(i);
    PyObject* list = PyList_New(length);
    if (list == nullptr) return nullptr;
    for (int64_t k = 0; k < length; ++k) {
      PyObject* item = items_->Get(begin + k);
      if (item == nullptr) {
        Py_DECREF(list);
        return nullptr;
      }
      PyList_SET_ITEM(list, k, item);
    }
    return list;
  }

 private:
  const ListArrayType& array_;
  ValuesPtr items_;
};

class StructValues : public ColumnValues {
 public:
  StructValues(const arrow::Array& array, std::vector<ValuesPtr> fields)
      : array_(array), fields_(std::move(fields)) {
    for (const auto& field : array.type()->fields()) keys_.push_back(KeyToPython(field->name()));
  }
  PyObject* Get(int64_t i) override {
    if (array_.IsNull(i)) return NewNone();
    PyObject* dict = PyDict_New();
    for (size_t k = 0; dict != nullptr && k < fields_.size(); ++k) {
      PyObject* value = fields_[k]->Get(i);
      if (value == nullptr || PyDict_SetItem(dict, keys_[k].ptr(), value) != 0) Py_CLEAR(dict);
      Py_XDECREF(value);
    }
    return dict;
  }

 private:
  const arrow::Array& array_;
  std::vector<ValuesPtr> fields_;
  std::vector<nb::object> keys_;
};

/// The items of a map, which is a list of (key, value) tuples, as in pyarrow.
class PairValues : public ColumnValues {
 public:
  PairValues(ValuesPtr keys, ValuesPtr items) : keys_(std::move(keys)), items_(std::move(items)) {}
  PyObject* Get(int64_t i) override {
    PyObject* key = keys_->Get(i);
    PyObject* item = key == nullptr ? nullptr : items_->Get(i);
    PyObject* pair = item == nullptr ? nullptr : PyTuple_Pack(2, key, item);
    Py_XDECREF(key);
    Py_XDECREF(item);
    return pair;
  }

 private:
  ValuesPtr keys_, items_;
};

class DictionaryValues : public ColumnValues {
 public:
  DictionaryValues(const arrow::Array& array, ValuesPtr values)
      : array_(static_cast<const arrow::DictionaryArray&>(array)), values_(std::move(values)) {}
  PyObject* Get(int64_t i) override {
    if (array_.IsNull(i)) return NewNone();
    return values_->Get(array_.GetValueIndex(i));
  }

 private:
  const arrow::DictionaryArray& array_;
  ValuesPtr values_;
};

/// JSON text, a null as None.
class JsonTextValues : public ColumnValues {
 public:
  /// `parsed`: null where no text was parsed before.
  JsonTextValues(const arrow::Array& array, const json::JsonElements* parsed, JsonValues* json)
      : array_(static_cast<const arrow::StringArray&>(array)), parsed_(parsed), json_(json) {}
  PyObject* Get(int64_t i) override {
    if (array_.IsNull(i)) return NewNone();
    return parsed_ != nullptr ? json_->Make(*parsed_, i) : json_->Parse(array_.GetView(i));
  }

 private:
  const arrow::StringArray& array_;
  const json::JsonElements* parsed_;
  JsonValues* json_;
};

ValuesPtr NativeValues(const std::shared_ptr<arrow::Array>& array);

/// Makes the values of an array by its type.
struct ValuesOfType {
  const arrow::Array& array;
  ValuesPtr made = nullptr;

  template <typename T>
  Status Visit(const T& /*type*/) {
    if constexpr (arrow::is_null_type<T>::value) {
      made = std::make_unique<NullValues>();
    } else if constexpr (arrow::is_boolean_type<T>::value || arrow::is_integer_type<T>::value ||
                         arrow::is_physical_floating_type<T>::value ||
                         arrow::is_base_binary_type<T>::value) {
      made = std::make_unique<PlainValues<typename arrow::TypeTraits<T>::ArrayType>>(array);
    } else if constexpr (arrow::is_list_type<T>::value) {
      using ListArrayType = typename arrow::TypeTraits<T>::ArrayType;
      auto items = NativeValues(static_cast<const ListArrayType&>(array).values());
      if (items != nullptr) {
        made = std::make_unique<ListValues<ListArrayType>>(array, std::move(items));
      }
    }
    return Status::OK();
  }
  Status Visit(const arrow::MapType& /*type*/) {
    const auto& map = static_cast<const arrow::MapArray&>(array);
    auto keys = NativeValues(map.keys());
    auto items = NativeValues(map.items());
    if (keys != nullptr && items != nullptr) {
      made = std::make_unique<ListValues<arrow::MapArray>>(
          map, std::make_unique<PairValues>(std::move(keys), std::move(items)));
    }
    return Status::OK();
  }
  Status Visit(const arrow::StructType& type) {
    std::vector<ValuesPtr> values;
    for (int i = 0; i < type.num_fields(); ++i) {
      // Of two fields of one name, which have no index, a dict would lose one; pyarrow refuses
      // that.
      if (type.GetFieldIndex(type.field(i)->name()) < 0) return Status::OK();
      values.push_back(NativeValues(static_cast<const arrow::StructArray&>(array).field(i)));
      if (values.back() == nullptr) return Status::OK();
    }
    made = std::make_unique<StructValues>(array, std::move(values));
    return Status::OK();
  }
  Status Visit(const arrow::DictionaryType& /*type*/) {
    auto values = NativeValues(static_cast<const arrow::DictionaryArray&>(array).dictionary());
    if (values != nullptr) made = std::make_unique<DictionaryValues>(array, std::move(values));
    return Status::OK();
  }
};

/// Null where the type, or one inside it, is left to pyarrow.
ValuesPtr NativeValues(const std::shared_ptr<arrow::Array>& array) {
  ValuesOfType values{*array};
  Check(arrow::VisitTypeInline(*array->type(), &values));
  return std::move(values.made);
}

/// JSON text that has the values that it was written from.
class TypedValues : public ColumnValues {
 public:
  explicit TypedValues(std::shared_ptr<arrow::Array> array)
      : array_(std::move(array)), values_(NativeValues(array_)) {}
  PyObject* Get(int64_t i) override { return values_->Get(i); }

 private:
  const std::shared_ptr<arrow::Array> array_;
  const ValuesPtr values_;
};

/// `json`: null where it is no column of JSON text.
ValuesPtr ValuesOf(const std::shared_ptr<arrow::Array>& array, JsonValues* json,
                   const json::JsonElements* parsed = nullptr) {
  if (json != nullptr) {
    const auto typed = json::TypedValuesOf(static_cast<const arrow::StringArray&>(*array));
    if (typed == nullptr) return std::make_unique<JsonTextValues>(*array, parsed, json);
    return std::make_unique<TypedValues>(typed);
  }
  ValuesPtr values = NativeValues(array);
  if (values == nullptr) values = std::make_unique<ForeignValues>(array);
  return values;
}

}  // namespace

struct RowConverter::Impl {
  struct Column {
    nb::object key;
    std::shared_ptr<arrow::Array> array;
    ValuesPtr values;
    bool may_lack = false;  // a null slot is a key that is not there
  };

  JsonValues json_values;
  std::shared_ptr<arrow::Schema> schema;
  std::vector<nb::object> keys;
  std::vector<Column> columns;
  Column whole;  // json::kRowColumn, where there is one
  // With more keys than a small dict holds, copying one of the right size spares growing.
  nb::object pattern;

  void Clear() {
    columns.clear();
    whole = Column();
  }

  void Start(const arrow::RecordBatch& rows, int64_t offset, int64_t length,
             const ParsedRows* parsed);

  void Prepare(const std::shared_ptr<arrow::Schema>& wanted) {
    if (schema == wanted) return;
    schema = wanted;
    keys.clear();
    for (const auto& field : schema->fields()) {
      keys.push_back(IsRestField(*field) ? nb::object(nb::none()) : KeyToPython(field->name()));
    }
    pattern = nb::object();
    bool all_present = keys.size() > 5;
    for (const auto& field : schema->fields()) {
      if (json::IsJsonField(*field) || IsRestField(*field)) all_present = false;
    }
    if (!all_present) return;
    pattern = nb::steal(PyDict_New());
    for (const auto& key : keys) PyDict_SetItem(pattern.ptr(), key.ptr(), Py_None);
  }
};

RowConverter::RowConverter() : impl_(std::make_unique<Impl>()) {}
RowConverter::~RowConverter() = default;

ParsedRows::ParsedRows() = default;
ParsedRows::~ParsedRows() = default;

void ParsedRows::Parse(const arrow::RecordBatch& rows) {
  texts_.resize(rows.num_columns());
  is_parsed_.assign(rows.num_columns(), false);
  for (int c = 0; c < rows.num_columns(); ++c) {
    if (!json::IsJsonField(*rows.schema()->field(c))) continue;
    const auto& texts = static_cast<const arrow::StringArray&>(*rows.column(c));
    if (json::TypedValuesOf(texts) != nullptr) continue;
    if (texts_[c] == nullptr) texts_[c] = std::make_unique<json::JsonElements>();
    is_parsed_[c] = texts_[c]->Parse(texts) && !texts_[c]->has_special_numbers();
  }
}

void RowConverter::Start(const arrow::RecordBatch& rows, int64_t offset, int64_t length) {
  impl_->Start(rows, offset, length, nullptr);
  Begin(0, length);
}

void RowConverter::Start(const arrow::RecordBatch& rows, const ParsedRows& parsed) {
  impl_->Start(rows, 0, rows.num_rows(), &parsed);
}

void RowConverter::Begin(int64_t begin, int64_t length) {
  for (auto& column : impl_->columns) column.values->Begin(begin, length);
}

void RowConverter::Impl::Start(const arrow::RecordBatch& rows, int64_t offset, int64_t length,
                               const ParsedRows* parsed) {
  Prepare(rows.schema());
  Clear();
  for (int c = 0; c < rows.num_columns(); ++c) {
    Column column;
    column.key = keys[c];
    column.array = rows.column(c)->Slice(offset, length);
    const arrow::Field& field = *rows.schema()->field(c);
    const bool is_json = json::IsJsonField(field);
    column.values = ValuesOf(column.array, is_json ? &json_values : nullptr,
                             parsed == nullptr ? nullptr : parsed->column(c));
    column.may_lack = (is_json || IsRestField(field)) && column.array->null_count() > 0;
    if (json::IsRowField(field)) {
      whole = std::move(column);
    } else {
      columns.push_back(std::move(column));
    }
  }
}

PyObject* RowConverter::Row(int64_t i) {
  PyObject* dict;
  if (impl_->whole.values != nullptr) {
    dict = impl_->whole.values->Get(i);
  } else {
    dict = impl_->pattern.is_valid() ? PyDict_Copy(impl_->pattern.ptr()) : PyDict_New();
  }
  if (dict == nullptr) return nullptr;
  for (auto& column : impl_->columns) {
    if (column.may_lack && column.array->IsNull(i)) continue;
    PyObject* value = column.values->Get(i);
    const int failed = value == nullptr ? -1 : PyDict_SetItem(dict, column.key.ptr(), value);
    Py_XDECREF(value);
    if (failed != 0) {
      Py_DECREF(dict);
      return nullptr;
    }
  }
  return dict;
}

void RowConverter::Finish() { impl_->Clear(); }

nb::list RowConverter::Convert(const arrow::RecordBatch& rows, int64_t offset, int64_t length) {
  Start(rows, offset, length);
  PyObject* list = PyList_New(length);
  if (list == nullptr) throw nb::python_error();
  nb::list out = nb::steal<nb::list>(list);
  for (int64_t i = 0; i < length; ++i) {
    PyObject* dict = Row(i);
    if (dict == nullptr) throw nb::python_error();
    PyList_SET_ITEM(list, i, dict);
  }
  Finish();
  return out;
}

nb::list RowsToPython(const Batch& batch) {
  RowConverter converter;
  return converter.Convert(*batch.rows, 0, batch.num_rows());
}

nb::list ValuesToPython(const std::shared_ptr<arrow::Array>& array, JsonValues* json) {
  const ValuesPtr values = ValuesOf(array, json);
  values->Begin(0, array->length());
  nb::list out;
  for (int64_t i = 0; i < array->length(); ++i) {
    PyObject* value = values->Get(i);
    if (value == nullptr) throw nb::python_error();
    out.append(nb::steal(value));
  }
  return out;
}

nb::object JsonTextToPython(std::string_view text) {
  JsonValues values;
  PyObject* value = values.Parse(text);
  if (value == nullptr) throw nb::python_error();
  return nb::steal(value);
}

}  // namespace easydata
