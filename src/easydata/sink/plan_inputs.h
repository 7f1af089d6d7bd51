#pragma once

#include <string>

#include "easydata/base/status.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Invalid where a file that the plan reads lies in `folder`, or below it, by its own place or by
/// where symbolic links lead: what is written there would take its place.
Status CheckInputsOutside(const StreamPlan& plan, const std::string& folder);

}  // namespace easydata
