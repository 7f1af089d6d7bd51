#pragma once

#include "bindings.h"
#include "easydata/pipeline/tokenize_plan.h"

namespace easydata {

/// A report of cuts as Python wants it: report(which, source, documents, tokens); none for None.
pipeline::CutCallback TellFromPython(nb::object report, Owned* owned);

}  // namespace easydata
