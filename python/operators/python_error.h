#pragma once

#include <nanobind/nanobind.h>
// Here, so that no file converts strings without it: that would be another meaning of one template.
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>

#include "easydata/base/status.h"

namespace easydata {

namespace nb = nanobind;

/// Raises the Python exception that a Status maps to; returns when it is OK. Needs the GIL.
///
/// Invalid -> ValueError, KeyError -> KeyError, TypeError -> TypeError, IndexError -> IndexError,
/// IOError -> OSError (with errno, so FileNotFoundError where it fits), NotImplemented ->
/// NotImplementedError, OutOfMemory -> MemoryError, Cancelled -> easydata.Cancelled (SystemExit on
/// a thread that runs on while the interpreter ends), anything else
/// -> RuntimeError. A Python exception that rode through the engine is raised again as itself.
void Check(const Status& status);

/// The value of a Result, or the exception of its Status. Needs the GIL.
template <typename T>
T Unwrap(Result<T> result) {
  Check(result.status());
  return std::move(result).ValueUnsafe();
}

/// Takes the Python exception that was caught into a Status, to be raised again by Check(), without
/// its frames: where Borrowed::Error() is not at hand. Needs the GIL.
Status PythonError(nb::python_error& error);

/// A Python value as errors show it: its repr, cut where it is long.
std::string ShownValue(nb::handle value);

/// Binds easydata.Cancelled.
void BindStatus(nb::module_& m);

}  // namespace easydata
