#include "operators/rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/visit_type_inline.h>

#include <utility>

#include "easydata/json/json_column.h"
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

/// Exotic types: what pyarrow makes of them, a column at a time.
class ForeignValues : public ColumnValues {
 public:
  explicit ForeignValues(const std::shared_ptr<arrow::Array>& array)
      : values_(ExportArray(array).attr("to_pylist")()) {}
  PyObject* Get(int64_t i) override { return Py_NewRef(PyList_GET_ITEM(values_.ptr(), i)); }

 private:
  nb::object values_;
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

/// A map is a list of (key, value) tuples, as in pyarrow.
class MapValues : public ColumnValues {
 public:
  MapValues(const arrow::Array& array, ValuesPtr keys, ValuesPtr items)
      : array_(static_cast<const arrow::MapArray&>(array)),
        keys_(std::move(keys)),
        items_(std::move(items)) {}
  PyObject* Get(int64_t i) override {
    if (array_.IsNull(i)) return NewNone();
    const int64_t begin = array_.value_offset(i);
    const int64_t length = array_.value_length(i);
    PyObject* list = PyList_New(length);
    for (int64_t k = 0; list != nullptr && k < length; ++k) {
      PyObject* key = keys_->Get(begin + k);
      PyObject* item = key == nullptr ? nullptr : items_->Get(begin + k);
      PyObject* pair = item == nullptr ? nullptr : PyTuple_New(2);
      if (pair == nullptr) {
        Py_XDECREF(key);
        Py_XDECREF(item);
        Py_CLEAR(list);
        break;
      }
      PyTuple_SET_ITEM(pair, 0, key);
      PyTuple_SET_ITEM(pair, 1, item);
      PyList_SET_ITEM(list, k, pair);
    }
    return list;
  }

 private:
  const arrow::MapArray& array_;
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

/// JSON text; the caller leaves null slots out.
class JsonTextValues : public ColumnValues {
 public:
  JsonTextValues(const arrow::Array& array, JsonValues* json)
      : array_(static_cast<const arrow::StringArray&>(array)), json_(json) {}
  PyObject* Get(int64_t i) override { return json_->Parse(array_.GetView(i)); }

 private:
  const arrow::StringArray& array_;
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
      made = std::make_unique<MapValues>(map, std::move(keys), std::move(items));
    }
    return Status::OK();
  }
  Status Visit(const arrow::StructType& type) {
    std::vector<ValuesPtr> values;
    for (int i = 0; i < type.num_fields(); ++i) {
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

}  // namespace

struct RowConverter::Impl {
  struct Column {
    nb::object key;
    std::shared_ptr<arrow::Array> array;
    ValuesPtr values;
    bool may_lack = false;  // a null slot is a key that is not there
  };

  JsonValues json;
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

void RowConverter::Start(const arrow::RecordBatch& rows, int64_t offset, int64_t length) {
  impl_->Prepare(rows.schema());
  impl_->Clear();
  for (int c = 0; c < rows.num_columns(); ++c) {
    Impl::Column column;
    column.key = impl_->keys[c];
    column.array = rows.column(c)->Slice(offset, length);
    const arrow::Field& field = *rows.schema()->field(c);
    if (json::IsJsonField(field)) {
      column.values = std::make_unique<JsonTextValues>(*column.array, &impl_->json);
    } else {
      column.values = NativeValues(column.array);
      if (column.values == nullptr) column.values = std::make_unique<ForeignValues>(column.array);
    }
    column.may_lack =
        (json::IsJsonField(field) || IsRestField(field)) && column.array->null_count() > 0;
    if (json::IsJsonField(field) && field.name() == json::kRowColumn) {
      impl_->whole = std::move(column);
    } else {
      impl_->columns.push_back(std::move(column));
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

nb::object JsonTextToPython(std::string_view text) {
  JsonValues values;
  PyObject* value = values.Parse(text);
  if (value == nullptr) throw nb::python_error();
  return nb::steal(value);
}

}  // namespace easydata
