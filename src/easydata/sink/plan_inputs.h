#pragma once

#include <string>

#include "easydata/base/status.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::sink {

/// Invalid where a file that the plan reads is in `folder`, or below it, by its own path or by
/// symbolic links: the output would replace it.
Status CheckInputsOutside(const StreamPlan& plan, const std::string& folder);

}  // namespace easydata::sink
