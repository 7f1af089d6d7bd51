#pragma once

#include "operators/python_error.h"

namespace easydata {

/// Whether a bound type owns Python objects: it has a member `owned` (an Owned, or the like).
template <typename T>
concept OwnsPythonObjects = requires(T& bound, visitproc visit, void* arg) {
  { bound.owned.Visit(visit, arg) };
  bound.owned.Clear();
};

namespace detail {

template <typename T>
int VisitOwned(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  return nb::inst_ptr<T>(self)->owned.Visit(visit, arg);
}

template <typename T>
int ClearOwned(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<T>(self)->owned.Clear();
  return 0;
}

template <typename T>
void EndWork(PyObject* self) {
  if (!nb::inst_ready(self)) return;
  const nb::error_scope raised;  // stays so
  nb::inst_ptr<T>(self)->EndWork();
}

template <typename T>
inline PyType_Slot owner_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&VisitOwned<T>)},
    {Py_tp_clear, reinterpret_cast<void*>(&ClearOwned<T>)},
    {0, nullptr},
};

#ifdef Py_LIMITED_API
template <typename T>
inline PyType_Slot worker_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&VisitOwned<T>)},
    {Py_tp_clear, reinterpret_cast<void*>(&ClearOwned<T>)},
    {Py_tp_finalize, reinterpret_cast<void*>(&EndWork<T>)},
    {0, nullptr},
};
#endif

}  // namespace detail

/// Binds a type that owns Python objects, directly or through the engine: Python's garbage
/// collector sees them, and frees circles. One that has threads has EndWork(), too, which ends
/// them.
///
/// All types are bound by this or by BindPlain(): script/check_layers.py sees to it, and to it that
/// Python objects are members of few classes (see lending.h).
template <OwnsPythonObjects T>
nb::class_<T> BindOwner(nb::module_& m, const char* name, const char* doc) {
  if constexpr (requires(T& bound) { bound.EndWork(); }) {
    // Called before anything of a circle is cleared: its threads would call functions whose objects
    // are half gone.
#ifdef Py_LIMITED_API
    return nb::class_<T>(m, name, doc, nb::type_slots(detail::worker_slots<T>));
#else
    // Not as a slot of the type: it would be a method __del__, too.
    nb::class_<T> type(m, name, doc, nb::type_slots(detail::owner_slots<T>));
    reinterpret_cast<PyTypeObject*>(type.ptr())->tp_finalize = &detail::EndWork<T>;
    return type;
#endif
  } else {
    return nb::class_<T>(m, name, doc, nb::type_slots(detail::owner_slots<T>));
  }
}

/// Binds a type that owns no Python objects.
template <typename T>
  requires(!OwnsPythonObjects<T>)
nb::class_<T> BindPlain(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<T>(m, name, doc);
}

}  // namespace easydata
