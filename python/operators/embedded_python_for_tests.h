#pragma once

#include <nanobind/eval.h>

#include "operators/python_error.h"

namespace easydata {

/// The value of an expression of Python's.
inline nb::object Evaluated(const char* text) { return nb::eval(nb::str(text), nb::dict()); }

}  // namespace easydata
