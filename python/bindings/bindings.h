#pragma once

#include "operators/python_error.h"

namespace easydata {

// What stubs show of a type of Python's; of arguments the outer type alone is looked at.
using Row = nb::typed<nb::dict, nb::str, nb::any>;
using Callable = nb::typed<nb::callable, nb::object(...)>;

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
