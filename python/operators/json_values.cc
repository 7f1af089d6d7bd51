#include "operators/json_values.h"

#include <simdjson.h>

#include <array>

#include "easydata/json/dom_parse.h"
#include "easydata/json/json_elements.h"
#include "operators/limited_api.h"
#include "operators/python_text.h"

namespace easydata {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kCachedKeys = 512;
constexpr size_t kLongestCachedKey = 64;

}  // namespace

struct JsonValues::Impl {
  dom::parser parser;
  std::array<PyObject*, kCachedKeys> keys{};
  nb::object loads;

  ~Impl() {
    for (PyObject* key : keys) Py_XDECREF(key);
  }

  PyObject* Key(std::string_view text) {
    if (text.size() > kLongestCachedKey || text.empty()) return TextToPython(text);
    uint64_t hash = text.size();
    for (unsigned char c : text) hash = hash * 31 + c;
    PyObject*& slot = keys[(hash ^ (hash >> 16)) % kCachedKeys];
    if (slot != nullptr && AsciiOf(slot) == text) return Py_NewRef(slot);
    PyObject* key = TextToPython(text);
    if (key != nullptr && AsciiOf(key).has_value()) {
      Py_XDECREF(slot);
      slot = Py_NewRef(key);
    }
    return key;
  }

  PyObject* Make(dom::element element) {
    switch (element.type()) {
      case dom::element_type::STRING:
        return TextToPython(element.get_string().value_unsafe());
      case dom::element_type::INT64:
        return PyLong_FromLongLong(element.get_int64().value_unsafe());
      case dom::element_type::UINT64:
        return PyLong_FromUnsignedLongLong(element.get_uint64().value_unsafe());
      case dom::element_type::DOUBLE:
        return PyFloat_FromDouble(element.get_double().value_unsafe());
      case dom::element_type::BOOL:
        return Py_NewRef(element.get_bool().value_unsafe() ? Py_True : Py_False);
      case dom::element_type::NULL_VALUE:
        return Py_NewRef(Py_None);
      case dom::element_type::ARRAY: {
        const dom::array array = element.get_array().value_unsafe();
        PyObject* list = PyList_New(0);
        for (dom::element item : array) {
          if (list == nullptr) return nullptr;
          PyObject* value = Make(item);
          if (value == nullptr || PyList_Append(list, value) != 0) Py_CLEAR(list);
          Py_XDECREF(value);
        }
        return list;
      }
      default: {
        const dom::object object = element.get_object().value_unsafe();
        PyObject* dict = PyDict_New();
        for (dom::key_value_pair member : object) {
          if (dict == nullptr) return nullptr;
          PyObject* key = Key(member.key);
          PyObject* value = key == nullptr ? nullptr : Make(member.value);
          if (value == nullptr || PyDict_SetItem(dict, key, value) != 0) Py_CLEAR(dict);
          Py_XDECREF(key);
          Py_XDECREF(value);
        }
        return dict;
      }
    }
  }
};

JsonValues::JsonValues() : impl_(std::make_unique<Impl>()) {}
JsonValues::~JsonValues() = default;

PyObject* JsonValues::Make(const json::JsonElements& parsed, int64_t i) {
  return impl_->Make(parsed[i]);
}

PyObject* JsonValues::Parse(std::string_view text) {
  dom::element element;
  const auto error = json::ParseDom(&impl_->parser, text, /*is_padded=*/false, &element);
  if (error == simdjson::SUCCESS) return impl_->Make(element);
  // NaN, numbers of any size, lone surrogates: Python takes more than the standard does.
  if (!impl_->loads.is_valid()) impl_->loads = nb::module_::import_("json").attr("loads");
  PyObject* string = TextToPython(text);
  if (string == nullptr) return nullptr;
  PyObject* value = PyObject_CallOneArg(impl_->loads.ptr(), string);
  Py_DECREF(string);
  return value;
}

}  // namespace easydata
