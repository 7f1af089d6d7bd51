#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "easydata/json/json_column.h"
#include "easydata/json/json_text.h"
#include "easydata/json/typed_text.h"
#include "easydata/source/json_rows.h"
#include "operators/limited_api.h"
#include "operators/plain_columns.h"
#include "operators/python_text.h"
#include "operators/rows.h"

namespace easydata {
namespace {

constexpr int kMaxRowDepth = 1000;

Status FetchError() {
  nb::python_error error;
  return PythonError(error);
}

/// A string with lone surrogates has no UTF-8: JSON writes them as escapes.
Status AppendSurrogates(PyObject* text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
  for (Py_ssize_t i = 0; i < length; ++i) {
    const Py_UCS4 c = PyUnicode_READ_CHAR(text, i);
    if (c >= 0xd800 && c < 0xe000) {
      *out += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) out->push_back(kHex[(c >> shift) & 15]);
      continue;
    }
    nb::object one = nb::steal(PyUnicode_Substring(text, i, i + 1));
    const auto utf8 = one.is_valid() ? Utf8Of(one) : std::nullopt;
    if (!utf8.has_value()) return Status::OutOfMemory("a character of a text finds no memory");
    std::string quoted;
    json::AppendJsonString(*utf8, &quoted);
    out->append(quoted, 1, quoted.size() - 2);
  }
  out->push_back('"');
  return Status::OK();
}

Status AppendString(PyObject* text, std::string* out) {
  const auto utf8 = Utf8Of(text);
  if (!utf8.has_value()) return AppendSurrogates(text, out);
  json::AppendJsonString(*utf8, out);
  return Status::OK();
}

/// Keys as JSON has them: rows mostly have the same key objects, again and again.
class KeyTexts {
 public:
  KeyTexts() = default;
  ~KeyTexts() {
    for (const Slot& slot : slots_) Py_XDECREF(slot.key);
  }
  KeyTexts(const KeyTexts&) = delete;
  KeyTexts& operator=(const KeyTexts&) = delete;

  /// Appends the key, quoted, and a colon.
  Status Append(PyObject* key, std::string* out) {
    Slot& slot = slots_[(reinterpret_cast<uintptr_t>(key) >> 4) % slots_.size()];
    if (slot.key != key) {
      slot.text.clear();
      ARROW_RETURN_NOT_OK(AppendString(key, &slot.text));
      slot.text.push_back(':');
      Py_XDECREF(slot.key);
      slot.key = Py_NewRef(key);
    }
    *out += slot.text;
    return Status::OK();
  }

 private:
  struct Slot {
    PyObject* key = nullptr;  // kept, so that no other object comes to lie where it does
    std::string text;
  };
  std::array<Slot, 64> slots_;
};

/// Appends values as JSON text.
class JsonWriter {
 public:
  Status AppendRow(PyObject* row, std::string* out);
  Status AppendValue(PyObject* value, int depth, std::string* out);

 private:
  Status AppendObject(PyObject* dict, int depth, std::string* out);

  KeyTexts keys_;
};

Status JsonWriter::AppendObject(PyObject* dict, int depth, std::string* out) {
  out->push_back('{');
  PyObject *key, *item;
  Py_ssize_t position = 0;
  bool first = true;
  while (PyDict_Next(dict, &position, &key, &item)) {
    if (!PyUnicode_Check(key)) {
      return Status::TypeError("a dict has a key of type ", TypeNameOf(key),
                               ", JSON has strings only");
    }
    if (!first) out->push_back(',');
    first = false;
    ARROW_RETURN_NOT_OK(keys_.Append(key, out));
    ARROW_RETURN_NOT_OK(AppendValue(item, depth + 1, out));
  }
  out->push_back('}');
  return Status::OK();
}

Status JsonWriter::AppendValue(PyObject* value, int depth, std::string* out) {
  if (depth > kMaxRowDepth)
    return Status::TypeError("a value is nested more than 1000 deep, or in itself");
  if (value == Py_None) return out->append("null"), Status::OK();
  if (value == Py_True) return out->append("true"), Status::OK();
  if (value == Py_False) return out->append("false"), Status::OK();
  if (PyUnicode_Check(value)) return AppendString(value, out);
  if (PyLong_Check(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) {
      json::AppendJsonInteger(number, out);
      return Status::OK();
    }
    nb::object text = nb::steal(PyNumber_ToBase(value, 10));
    if (!text.is_valid()) return FetchError();
    *out += Utf8Of(text).value();
    return Status::OK();
  }
  if (PyFloat_Check(value)) {
    const double number = PyFloat_AS_DOUBLE(value);
    if (std::isnan(number)) return out->append("NaN"), Status::OK();
    if (std::isinf(number)) return out->append(number > 0 ? "Infinity" : "-Infinity"), Status::OK();
    json::AppendFloatRepr(number, out);
    return Status::OK();
  }
  if (PyList_Check(value) || PyTuple_Check(value)) {
    out->push_back('[');
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
    for (Py_ssize_t i = 0; i < size; ++i) {
      if (i > 0) out->push_back(',');
      ARROW_RETURN_NOT_OK(AppendValue(PySequence_Fast_GET_ITEM(value, i), depth + 1, out));
    }
    out->push_back(']');
    return Status::OK();
  }
  if (PyDict_Check(value)) return AppendObject(value, depth, out);
  // numpy's scalars and arrays, without importing numpy.
  if (PyObject_HasAttrString(value, "dtype") && PyObject_HasAttrString(value, "tolist")) {
    nb::object plain = nb::steal(PyObject_CallMethod(value, "tolist", nullptr));
    if (!plain.is_valid()) return FetchError();
    if (Py_TYPE(plain.ptr()) != Py_TYPE(value)) return AppendValue(plain.ptr(), depth + 1, out);
  }
  return Status::TypeError("JSON cannot hold a value of type ", TypeNameOf(value));
}

Status WrongType(const std::string& column, PyObject* value, const char* expected) {
  return Status::TypeError("field \"", column, "\" holds a value of type ", TypeNameOf(value),
                           ", expected ", expected);
}

Status AppendToken(const std::string& column, PyObject* item, arrow::Int32Builder* out) {
  if (PyBool_Check(item) || !PyIndex_Check(item)) {
    return WrongType(column, item, "whole numbers (token ids)");
  }
  const Py_ssize_t number = PyNumber_AsSsize_t(item, nullptr);
  if (number == -1 && PyErr_Occurred()) return FetchError();
  if (number < std::numeric_limits<int32_t>::min() ||
      number > std::numeric_limits<int32_t>::max()) {
    return Status::TypeError("field \"", column, "\" holds ", number,
                             ", which is no 32-bit whole number (a token id)");
  }
  return out->Append(static_cast<int32_t>(number));
}

Status AppendTokens(const std::string& column, PyObject* value, arrow::ListBuilder* out) {
  if (PyUnicode_Check(value) || PyBytes_Check(value) || PyDict_Check(value)) {
    return WrongType(column, value, "a list of token ids");
  }
  nb::object plain;
  if (!PyList_Check(value) && !PyTuple_Check(value)) {
    plain = PyObject_HasAttrString(value, "tolist")
                ? nb::steal(PyObject_CallMethod(value, "tolist", nullptr))
                : nb::steal(PySequence_List(value));
    if (!plain.is_valid() || !PyList_Check(plain.ptr())) {
      PyErr_Clear();
      return WrongType(column, value, "a list of token ids");
    }
    value = plain.ptr();
  }
  auto* items = static_cast<arrow::Int32Builder*>(out->value_builder());
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
  ARROW_RETURN_NOT_OK(out->Append());
  ARROW_RETURN_NOT_OK(items->Reserve(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    ARROW_RETURN_NOT_OK(AppendToken(column, PySequence_Fast_GET_ITEM(value, i), items));
  }
  return Status::OK();
}

/// What is wrong with the value of a field.
Status InField(std::string_view name, const Status& status) {
  if (!status.IsTypeError()) return status;
  return Status::TypeError("field \"", name, "\": ", status.message());
}

/// Appends a row as a JSON object, field by field, so that an error can name the field.
Status JsonWriter::AppendRow(PyObject* row, std::string* out) {
  PyObject *key, *item;
  Py_ssize_t position = 0;
  bool first = true;
  out->push_back('{');
  while (PyDict_Next(row, &position, &key, &item)) {
    if (!PyUnicode_Check(key)) {
      return Status::TypeError("a row has a key of type ", TypeNameOf(key), ", expected str");
    }
    if (!first) out->push_back(',');
    first = false;
    ARROW_RETURN_NOT_OK(keys_.Append(key, out));
    const Status status = AppendValue(item, 0, out);
    if (!status.ok()) return InField(nb::cast<std::string>(nb::str(key)), status);
  }
  out->push_back('}');
  return Status::OK();
}

}  // namespace

struct RowColumns::Impl {
  struct Column {
    ColumnRequest request;
    nb::object key;
    std::unique_ptr<arrow::StringBuilder> texts = nullptr;
    std::unique_ptr<arrow::ListBuilder> tokens = nullptr;
    /// All values so far, of JSON, while they are plain; null: they are in `texts`.
    std::unique_ptr<PlainColumn> plain = nullptr;
    int64_t num_plain = 0;
  };

  std::shared_ptr<arrow::Schema> schema;
  bool whole_rows;
  std::vector<Column> columns;
  int64_t num_rows = 0;
  JsonWriter json;
  std::string json_text;  // of a value
  /// All rows so far, where whole rows are wanted and they are plain.
  std::unique_ptr<PlainRows> plain_rows;

  /// Begins columns of JSON as plain ones: they are so until a value is not.
  void BeginPlain() {
    if (whole_rows) {
      plain_rows = std::make_unique<PlainRows>();
      return;
    }
    for (Column& column : columns) {
      if (column.request.kind != ColumnKind::kAny) continue;
      column.plain = std::make_unique<PlainColumn>();
      column.num_plain = 0;
    }
  }

  /// Writes values, which were plain, as the texts before those that are not.
  static Status WriteAsText(Result<std::shared_ptr<arrow::Array>> values,
                            arrow::StringBuilder* texts) {
    ARROW_RETURN_NOT_OK(values.status());
    ARROW_ASSIGN_OR_RAISE(const auto written, json::WriteTypedText(*values));
    return texts->AppendArraySlice(*written->data(), 0, written->length());
  }

  Status AppendWhole(PyObject* row) {
    arrow::StringBuilder* const texts = columns[0].texts.get();
    if (plain_rows != nullptr) {
      ARROW_ASSIGN_OR_RAISE(const bool is_plain, plain_rows->Append(row));
      if (is_plain) return Status::OK();
      const auto before = std::exchange(plain_rows, nullptr);
      if (before->num_rows() > 0) ARROW_RETURN_NOT_OK(WriteAsText(before->Finish(), texts));
    }
    json_text.clear();
    ARROW_RETURN_NOT_OK(json.AppendRow(row, &json_text));
    return texts->Append(json_text);
  }

  Status AppendJson(PyObject* value, Column* column) {
    if (column->plain != nullptr) {
      if (value != nullptr && column->plain->Look(value)) {
        ++column->num_plain;
        return column->plain->Append();
      }
      const auto before = std::exchange(column->plain, nullptr);
      if (column->num_plain > 0) {
        ARROW_RETURN_NOT_OK(WriteAsText(before->Finish(), column->texts.get()));
      }
    }
    if (value == nullptr) return column->texts->AppendNull();
    json_text.clear();
    if (const Status status = json.AppendValue(value, 0, &json_text); !status.ok()) {
      return InField(column->request.name, status);
    }
    return column->texts->Append(json_text);
  }

  Status AppendTo(Column* column, PyObject* row) {
    PyObject* value = PyDict_GetItemWithError(row, column->key.ptr());
    if (value == nullptr && PyErr_Occurred()) return FetchError();
    const std::string& name = column->request.name;
    const bool is_missing = value == nullptr || value == Py_None;
    switch (column->request.kind) {
      case ColumnKind::kTokens:
        return is_missing ? column->tokens->AppendNull()
                          : AppendTokens(name, value, column->tokens.get());
      case ColumnKind::kText:
        return is_missing ? column->texts->AppendNull() : AppendText(name, value, column);
      default:
        return AppendJson(value, column);
    }
  }

  static Status AppendText(const std::string& name, PyObject* value, Column* column) {
    if (!PyUnicode_Check(value)) return WrongType(name, value, "str");
    const auto text = Utf8Of(value);
    if (!text.has_value()) {
      return Status::Invalid("field \"", name,
                             "\" holds half of a surrogate pair, which is no character and has no "
                             "UTF-8");
    }
    return column->texts->Append(*text);
  }
};

RowColumns::RowColumns(const Columns& columns) : impl_(std::make_unique<Impl>()) {
  impl_->schema = source::JsonRowSchema(columns);
  impl_->whole_rows = !columns.has_value();
  for (const ColumnRequest& request :
       columns.value_or(std::vector<ColumnRequest>{{json::kRowColumn, ColumnKind::kAny}})) {
    Impl::Column column{.request = request, .key = KeyToPython(request.name)};
    if (request.kind == ColumnKind::kTokens) {
      column.tokens = std::make_unique<arrow::ListBuilder>(arrow::default_memory_pool(),
                                                           std::make_shared<arrow::Int32Builder>());
    } else {
      column.texts = std::make_unique<arrow::StringBuilder>();
    }
    impl_->columns.push_back(std::move(column));
  }
  impl_->BeginPlain();
}

RowColumns::~RowColumns() = default;

int64_t RowColumns::num_rows() const { return impl_->num_rows; }

int64_t RowColumns::num_bytes() const {
  int64_t bytes = impl_->plain_rows == nullptr ? 0 : impl_->plain_rows->num_bytes();
  for (const Impl::Column& column : impl_->columns) {
    if (column.plain != nullptr) bytes += column.plain->num_bytes();
    bytes += column.tokens != nullptr
                 ? column.tokens->value_builder()->length() * int64_t{sizeof(int32_t)}
                 : column.texts->value_data_length();
  }
  return bytes;
}

Status RowColumns::Append(nb::handle row) {
  if (!PyDict_Check(row.ptr())) {
    return Status::TypeError("a row is of type ", TypeNameOf(row.ptr()), ", expected a dict");
  }
  if (impl_->whole_rows) {
    ARROW_RETURN_NOT_OK(impl_->AppendWhole(row.ptr()));
  } else {
    for (Impl::Column& column : impl_->columns) {
      ARROW_RETURN_NOT_OK(impl_->AppendTo(&column, row.ptr()));
    }
  }
  ++impl_->num_rows;
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> RowColumns::Finish() {
  ARROW_ASSIGN_OR_RAISE(const UnwrittenRows rows, FinishUnwritten());
  return rows.Write();
}

Result<UnwrittenRows> RowColumns::FinishUnwritten() {
  UnwrittenRows out;
  out.schema = impl_->schema;
  out.num_rows = std::exchange(impl_->num_rows, 0);
  for (Impl::Column& column : impl_->columns) {
    const bool is_plain_rows = impl_->plain_rows != nullptr && out.num_rows > 0;
    const bool is_plain = is_plain_rows || (column.plain != nullptr && out.num_rows > 0);
    ARROW_ASSIGN_OR_RAISE(auto array, is_plain_rows              ? impl_->plain_rows->Finish()
                                      : is_plain                 ? column.plain->Finish()
                                      : column.tokens != nullptr ? column.tokens->Finish()
                                                                 : column.texts->Finish());
    // Without the half of a row that could not be held.
    out.columns.push_back(array->Slice(0, out.num_rows));
    out.are_plain.push_back(is_plain);
  }
  impl_->BeginPlain();
  return out;
}

Result<std::shared_ptr<arrow::RecordBatch>> UnwrittenRows::Write() const {
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (are_plain[i]) {
      ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(), json::WriteTypedText(columns[i]));
    } else {
      arrays.push_back(columns[i]);
    }
  }
  return arrow::RecordBatch::Make(schema, num_rows, std::move(arrays));
}

Status JsonTextOf(nb::handle value, std::string* out) {
  return JsonWriter().AppendValue(value.ptr(), 0, out);
}

}  // namespace easydata
