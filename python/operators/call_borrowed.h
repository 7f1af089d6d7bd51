#pragma once

#include <type_traits>

#include "operators/engine_gil.h"
#include "operators/lending.h"

namespace easydata {

/// Calls `work` with a borrowed object, and gives what it returns as a T, a type of C++. An
/// exception is handed on as a Status. Takes the GIL.
template <typename T, typename Work>
Result<T> CallBorrowed(const Borrowed& borrowed, Work work) {
  static_assert(!std::is_base_of_v<nb::handle, T>, "the GIL is not held where the result goes");
  EngineGil gil;
  if (!gil.held()) return EngineGil::Ending();
  const nb::object object = borrowed.Get();
  if (!object.is_valid()) return Borrowed::Gone();
  try {
    return nb::cast<T>(CallPython([&] { return nb::object(work(object)); }));
  } catch (nb::python_error& error) {
    return borrowed.Error(error);
  }
}

/// The same of work whose result nobody wants.
template <typename Work>
Status RunBorrowed(const Borrowed& borrowed, Work work) {
  return CallBorrowed<bool>(borrowed,
                            [&](const nb::object& object) {
                              work(object);
                              return nb::bool_(true);
                            })
      .status();
}

}  // namespace easydata
