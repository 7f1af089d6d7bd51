#pragma once

#include "operators/json_objects.h"
#include "operators/python_error.h"

namespace easydata {

// What stubs show of a type of Python's; of arguments the outer type alone is looked at.
using Row = nb::typed<nb::dict, nb::str, nb::any>;
using Callable = nb::typed<nb::callable, nb::object(...)>;
using Told = nb::typed<nb::callable, nb::object(nb::str)>;  // is told a text
/// An argument that stubs show as a T: whoever takes it says what is wrong with other values.
template <typename T>
using Given = nb::typed<nb::handle, T>;

/// What the engine says as an object of JSON, as Python has it.
template <typename Value = nb::any, typename Json>
nb::typed<nb::dict, nb::str, Value> DictOf(const Json& object) {
  return nb::borrow<nb::typed<nb::dict, nb::str, Value>>(JsonToPython(object));
}

/// A dict of each of `items`, which say themselves as JSON.
template <typename Items>
nb::typed<nb::list, Row> DictsOf(const Items& items) {
  nb::typed<nb::list, Row> out;
  for (const auto& item : items) out.append(DictOf(item.ToJson()));
  return out;
}

void BindStream(nb::module_& m);
void BindPlan(nb::module_& m);
void BindConfig(nb::module_& m);
void BindTokenizer(nb::module_& m);
void BindFiles(nb::module_& m);
void BindSource(nb::module_& m);
void BindRecordFile(nb::module_& m);
void BindCache(nb::module_& m);
void BindChat(nb::module_& m);
void BindTransform(nb::module_& m);
void BindTrainer(nb::module_& m);
void BindOrder(nb::module_& m);
void BindMix(nb::module_& m);
void BindPack(nb::module_& m);
void BindLoader(nb::module_& m);
void BindSink(nb::module_& m);
void BindVerify(nb::module_& m);
void BindKept(nb::module_& m);

}  // namespace easydata
