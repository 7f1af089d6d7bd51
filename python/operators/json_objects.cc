#include "operators/json_objects.h"
#include "operators/limited_api.h"

#include <nlohmann/json.hpp>

namespace easydata {
namespace {

template <typename Json>
nb::object ObjectOf(const Json& value) {
  switch (value.type()) {
    case nlohmann::detail::value_t::null:
    case nlohmann::detail::value_t::discarded:
      return nb::none();
    case nlohmann::detail::value_t::boolean:
      return nb::bool_(value.template get<bool>());
    case nlohmann::detail::value_t::number_integer:
      return nb::int_(value.template get<int64_t>());
    case nlohmann::detail::value_t::number_unsigned:
      return nb::int_(value.template get<uint64_t>());
    case nlohmann::detail::value_t::number_float:
      return nb::float_(value.template get<double>());
    case nlohmann::detail::value_t::string: {
      const auto& text = value.template get_ref<const std::string&>();
      return nb::str(text.data(), text.size());
    }
    case nlohmann::detail::value_t::array: {
      nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(value.size())));
      if (!list.is_valid()) nb::raise_python_error();
      Py_ssize_t i = 0;
      for (const auto& item : value) {
        PyList_SET_ITEM(list.ptr(), i++, ObjectOf(item).release().ptr());
      }
      return list;
    }
    default: {
      nb::dict dict;
      for (const auto& [key, item] : value.items()) {
        dict[nb::str(key.data(), key.size())] = ObjectOf(item);
      }
      return dict;
    }
  }
}

// More levels than anything that we write has; each takes stack.
constexpr int kDeepestJson = 200;

/// The UTF-8 of a Python string; raises ValueError for one that has none.
std::string JsonTextIn(nb::handle string, const std::string& name) {
  if (const auto text = Utf8Of(string)) return std::string(*text);
  throw nb::value_error(
      (name + ": holds a lone surrogate, which no text can: " + ShownValue(string)).c_str());
}

nlohmann::json NumberFromPython(nb::handle value, const std::string& name) {
  const int64_t number = PyLong_AsLongLong(value.ptr());
  if (!PyErr_Occurred()) return number;
  PyErr_Clear();
  const uint64_t large = PyLong_AsUnsignedLongLong(value.ptr());
  if (!PyErr_Occurred()) return large;
  PyErr_Clear();
  throw nb::value_error(
      (name + ": must be a number of at most 64 bits, not " + ShownValue(value)).c_str());
}

nlohmann::json JsonOf(nb::handle value, const std::string& name, int depth) {
  if (depth > kDeepestJson) {
    throw nb::value_error((name.substr(0, name.find_first_of("[")) + ": has more than " +
                           std::to_string(kDeepestJson) + " levels")
                              .c_str());
  }
  if (value.is_none()) return nullptr;
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyLong_Check(value.ptr())) return NumberFromPython(value, name);
  if (PyFloat_Check(value.ptr())) return PyFloat_AsDouble(value.ptr());
  if (nb::isinstance<nb::str>(value)) return JsonTextIn(value, name);
  if (nb::isinstance<nb::dict>(value)) {
    nlohmann::json out = nlohmann::json::object();
    for (auto [key, item] : nb::borrow<nb::dict>(value)) {
      const std::string text = JsonTextIn(nb::str(key), name + ", a key");
      out[text] = JsonOf(item, name + "['" + text + "']", depth + 1);
    }
    return out;
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    nlohmann::json out = nlohmann::json::array();
    for (nb::handle item : value) {
      out.push_back(JsonOf(item, name + "[" + std::to_string(out.size()) + "]", depth + 1));
    }
    return out;
  }
  throw nb::type_error((name + ": JSON cannot hold a value of type " + ClassNameOf(value)).c_str());
}

}  // namespace

nb::object JsonToPython(const nlohmann::json& value) { return ObjectOf(value); }
nb::object JsonToPython(const nlohmann::ordered_json& value) { return ObjectOf(value); }

nlohmann::json JsonFromPython(nb::handle value, const std::string& name) {
  return JsonOf(value, name, 0);
}

}  // namespace easydata
