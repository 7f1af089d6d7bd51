#pragma once

#include "bindings.h"
#include "easydata/plan/tokenize_plan.h"

namespace easydata {

/// A report of cuts as Python wants it: report(which, source, documents, tokens).
using ToldOfCuts = nb::typed<nb::callable, nb::object(nb::str, nb::str, nb::int_, nb::int_)>;

/// None for None.
plan::CutCallback TellFromPython(std::optional<ToldOfCuts> report, Owned* owned);

}  // namespace easydata
