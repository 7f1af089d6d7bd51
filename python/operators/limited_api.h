#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "operators/python_error.h"

/// Python's fast macros where there are any: a wheel for all Pythons from 3.12 on (abi3) is bound
/// to functions alone, which look at the same things once more.
/// https://docs.python.org/3/c-api/stable.html
#ifdef Py_LIMITED_API
#define PyList_GET_SIZE PyList_Size
#define PyList_GET_ITEM PyList_GetItem
#define PyList_SET_ITEM(list, i, item) static_cast<void>(PyList_SetItem(list, i, item))
#define PyTuple_GET_SIZE PyTuple_Size
#define PyTuple_GET_ITEM PyTuple_GetItem
#define PyTuple_SET_ITEM(tuple, i, item) static_cast<void>(PyTuple_SetItem(tuple, i, item))
#undef PySequence_Fast_GET_SIZE
#undef PySequence_Fast_GET_ITEM
#define PySequence_Fast_GET_SIZE PySequence_Size
#define PySequence_Fast_GET_ITEM(sequence, i) \
  (PyList_Check(sequence) ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i))
#define PyUnicode_GET_LENGTH PyUnicode_GetLength
#define PyUnicode_READ_CHAR PyUnicode_ReadChar
#define PyBytes_GET_SIZE PyBytes_Size
#define PyBytes_AS_STRING PyBytes_AsString
#define PyFloat_AS_DOUBLE PyFloat_AsDouble
#define PyObject_CallOneArg(callable, argument) \
  PyObject_CallFunctionObjArgs(callable, argument, nullptr)
// Exported by CPython, though not promised.
extern "C" int PyGILState_Check(void);
#endif

namespace easydata {

/// The name of a value's type, as in messages: "str", "numpy.int64".
inline std::string TypeNameOf(nb::handle value) {
#ifdef Py_LIMITED_API
  const nb::handle type = value.type();
  const std::string name = nb::cast<std::string>(type.attr("__name__"));
  const bool is_dotted = (PyType_GetFlags(reinterpret_cast<PyTypeObject*>(type.ptr())) &
                          Py_TPFLAGS_HEAPTYPE) == 0;  // as tp_name is
  if (!is_dotted) return name;
  const std::string module = nb::cast<std::string>(type.attr("__module__"));
  return module == "builtins" ? name : module + "." + name;
#else
  return Py_TYPE(value.ptr())->tp_name;
#endif
}

/// The name of a value's class alone: "str", "int64".
inline std::string ClassNameOf(nb::handle value) {
  return nb::cast<std::string>(nb::str(value.type().attr("__name__")));
}

/// The UTF-8 of a Python string, as long as that lives; nothing for one with lone surrogates.
inline std::optional<std::string_view> Utf8Of(nb::handle string) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string_view(data, static_cast<size_t>(size));
}

/// ASCII text as a new Python string, or null with an error set.
inline PyObject* AsciiToPython(std::string_view text) {
#ifdef Py_LIMITED_API
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
#else
  PyObject* string = PyUnicode_New(static_cast<Py_ssize_t>(text.size()), 127);
  if (string != nullptr) std::memcpy(PyUnicode_1BYTE_DATA(string), text.data(), text.size());
  return string;
#endif
}

/// The characters of a string that is ASCII; nothing where it is not.
inline std::optional<std::string_view> AsciiOf(PyObject* string) {
#ifdef Py_LIMITED_API
  const auto text = Utf8Of(string);
  const bool is_ascii =
      text.has_value() && static_cast<Py_ssize_t>(text->size()) == PyUnicode_GetLength(string);
  return is_ascii ? text : std::nullopt;
#else
  if (!PyUnicode_IS_ASCII(string)) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(string)),
                          static_cast<size_t>(PyUnicode_GET_LENGTH(string)));
#endif
}

}  // namespace easydata
