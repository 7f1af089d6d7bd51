#pragma once

#include <Python.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "operators/limited_api.h"
#include "operators/python_error.h"

namespace easydata {

/// UTF-8 as a new Python string, or null with UnicodeDecodeError set.
inline PyObject* TextToPython(std::string_view text) {
  const char* data = text.data();
  size_t i = 0;
  uint64_t bits = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, data + i, 8);
    bits |= word;
  }
  for (; i < text.size(); ++i) bits |= static_cast<unsigned char>(data[i]);
  if ((bits & 0x8080808080808080u) != 0 || text.size() <= 1) {
    return PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(text.size()), nullptr);
  }
  return AsciiToPython(text);
}

/// A name as an interned string, to be the key of many dicts.
inline nb::object KeyToPython(std::string_view name) {
  PyObject* key = TextToPython(name);
  if (key == nullptr) throw nb::python_error();
  PyUnicode_InternInPlace(&key);
  return nb::steal(key);
}

}  // namespace easydata
