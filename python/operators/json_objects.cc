#include "operators/json_objects.h"
#include "operators/limited_api.h"

#include <nlohmann/json.hpp>

namespace easydata {

nb::object JsonToPython(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null:
    case nlohmann::json::value_t::discarded:
      return nb::none();
    case nlohmann::json::value_t::boolean:
      return nb::bool_(value.get<bool>());
    case nlohmann::json::value_t::number_integer:
      return nb::int_(value.get<int64_t>());
    case nlohmann::json::value_t::number_unsigned:
      return nb::int_(value.get<uint64_t>());
    case nlohmann::json::value_t::number_float:
      return nb::float_(value.get<double>());
    case nlohmann::json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return nb::str(text.data(), text.size());
    }
    case nlohmann::json::value_t::array: {
      nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(value.size())));
      if (!list.is_valid()) nb::raise_python_error();
      Py_ssize_t i = 0;
      for (const auto& item : value) {
        PyList_SET_ITEM(list.ptr(), i++, JsonToPython(item).release().ptr());
      }
      return list;
    }
    default: {
      nb::dict dict;
      for (const auto& [key, item] : value.get_ref<const nlohmann::json::object_t&>()) {
        dict[nb::str(key.data(), key.size())] = JsonToPython(item);
      }
      return dict;
    }
  }
}

namespace {

// More levels than anything that we write has; each takes stack.
constexpr int kDeepestJson = 200;

/// The UTF-8 of a Python string; raises ValueError for one that has none.
std::string Utf8Of(nb::handle string, const std::string& name) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    throw nb::value_error(
        (name + ": holds a lone surrogate, which no text can: " + ShownValue(string)).c_str());
  }
  return {data, static_cast<size_t>(size)};
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
  if (nb::isinstance<nb::str>(value)) return Utf8Of(value, name);
  if (nb::isinstance<nb::dict>(value)) {
    nlohmann::json out = nlohmann::json::object();
    for (auto [key, item] : nb::borrow<nb::dict>(value)) {
      const std::string text = Utf8Of(nb::str(key), name + ", a key");
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
  const std::string type = nb::cast<std::string>(nb::str(value.type().attr("__name__")));
  throw nb::type_error((name + ": JSON cannot hold a value of type " + type).c_str());
}

}  // namespace

nlohmann::json JsonFromPython(nb::handle value, const std::string& name) {
  return JsonOf(value, name, 0);
}

}  // namespace easydata
