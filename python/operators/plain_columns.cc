#include "operators/plain_columns.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>

#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "operators/limited_api.h"

namespace easydata {
namespace {

/// With more bytes values are not plain: a column of JSON has 2 GiB at most, escapes included, and
/// who writes the text of each row can say which is too much.
constexpr int64_t kMostBytes = 256 << 20;

}  // namespace

struct PlainColumn::Impl {
  enum class Kind { kUnknown, kText, kInteger, kFloat, kBool };

  Kind kind = Kind::kUnknown;
  std::string_view text;
  int64_t integer = 0;
  double number = 0;
  bool flag = false;
  arrow::StringBuilder texts;
  arrow::Int64Builder integers;
  arrow::DoubleBuilder numbers;
  arrow::BooleanBuilder flags;

  /// Exact types alone: others may look otherwise than their values.
  Kind Look(PyObject* value) {
    if (PyUnicode_CheckExact(value)) {
      auto utf8 = AsciiOf(value);
      if (!utf8.has_value()) utf8 = Utf8Of(value);
      text = utf8.value_or("");
      if (!utf8.has_value()) return Kind::kUnknown;
      // json/json_parse.h has a use of its own for this.
      if (text.starts_with('\x01')) return Kind::kUnknown;
      const int64_t bytes = texts.value_data_length() + static_cast<int64_t>(text.size());
      return bytes <= kMostBytes ? Kind::kText : Kind::kUnknown;
    }
    if (PyFloat_CheckExact(value)) {
      number = PyFloat_AS_DOUBLE(value);
      return std::isfinite(number) ? Kind::kFloat : Kind::kUnknown;
    }
    if (PyLong_CheckExact(value)) {
      int overflow = 0;
      integer = PyLong_AsLongLongAndOverflow(value, &overflow);
      return overflow == 0 ? Kind::kInteger : Kind::kUnknown;
    }
    flag = value == Py_True;
    return flag || value == Py_False ? Kind::kBool : Kind::kUnknown;
  }

  arrow::ArrayBuilder& builder() {
    switch (kind) {
      case Kind::kInteger:
        return integers;
      case Kind::kFloat:
        return numbers;
      case Kind::kBool:
        return flags;
      default:
        return texts;
    }
  }
};

PlainColumn::PlainColumn() : impl_(std::make_unique<Impl>()) {}
PlainColumn::~PlainColumn() = default;
PlainColumn::PlainColumn(PlainColumn&&) noexcept = default;

bool PlainColumn::Look(PyObject* value) {
  const Impl::Kind kind = impl_->Look(value);
  if (kind == Impl::Kind::kUnknown) return false;
  if (impl_->kind == Impl::Kind::kUnknown) impl_->kind = kind;
  return impl_->kind == kind;
}

Status PlainColumn::Append() {
  switch (impl_->kind) {
    case Impl::Kind::kInteger:
      return impl_->integers.Append(impl_->integer);
    case Impl::Kind::kFloat:
      return impl_->numbers.Append(impl_->number);
    case Impl::Kind::kBool:
      return impl_->flags.Append(impl_->flag);
    default:
      return impl_->texts.Append(impl_->text);
  }
}

int64_t PlainColumn::num_bytes() const {
  return impl_->texts.value_data_length() +
         8 * (impl_->integers.length() + impl_->numbers.length());
}

Result<std::shared_ptr<arrow::Array>> PlainColumn::Finish() {
  auto out = impl_->builder().Finish();
  impl_->kind = Impl::Kind::kUnknown;
  return out;
}

struct PlainRows::Impl {
  struct Field {
    nb::object key;
    PlainColumn column;
  };

  std::vector<Field> fields;
  int64_t num_rows = 0;

  /// Takes the keys of the first row; false where they are no text.
  bool Begin(PyObject* dict) {
    fields.clear();
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict, &position, &key, &value)) {
      if (!PyUnicode_CheckExact(key) || !Utf8Of(key).has_value()) return false;
      fields.push_back({nb::borrow(key), PlainColumn()});
    }
    return !fields.empty();
  }

  /// Whether the row is like those before; then its values are at hand.
  bool Look(PyObject* dict) {
    if (PyDict_Size(dict) != std::ssize(fields)) return false;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    for (Field& field : fields) {
      if (PyDict_Next(dict, &position, &key, &value) == 0) return false;
      const bool is_same =
          key == field.key.ptr() || (PyUnicode_CheckExact(key) && field.key.equal(nb::handle(key)));
      if (!is_same || !field.column.Look(value)) return false;
    }
    return true;
  }
};

PlainRows::PlainRows() : impl_(std::make_unique<Impl>()) {}
PlainRows::~PlainRows() = default;

int64_t PlainRows::num_rows() const { return impl_->num_rows; }

Result<bool> PlainRows::Append(PyObject* dict) {
  if (impl_->num_rows == 0 && !impl_->Begin(dict)) return false;
  if (!impl_->Look(dict) || num_bytes() > kMostBytes) return false;
  for (Impl::Field& field : impl_->fields) ARROW_RETURN_NOT_OK(field.column.Append());
  ++impl_->num_rows;
  return true;
}

int64_t PlainRows::num_bytes() const {
  int64_t bytes = 0;
  for (const Impl::Field& field : impl_->fields) bytes += field.column.num_bytes();
  return bytes;
}

Result<std::shared_ptr<arrow::Array>> PlainRows::Finish() {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (Impl::Field& field : impl_->fields) {
    ARROW_ASSIGN_OR_RAISE(auto array, field.column.Finish());
    fields.push_back(arrow::field(std::string(*Utf8Of(field.key)), array->type(), false));
    // Without the half of a row that found no memory.
    arrays.push_back(array->Slice(0, impl_->num_rows));
  }
  impl_->num_rows = 0;
  return arrow::StructArray::Make(arrays, fields);
}

}  // namespace easydata
