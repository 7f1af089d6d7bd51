#pragma once

#include "bindings.h"
#include "easydata/plan/tokenize_plan.h"

namespace easydata {

/// A report of cuts as Python wants it: report(which, source, documents, tokens); none for None.
plan::CutCallback TellFromPython(nb::object report, Owned* owned);

}  // namespace easydata
