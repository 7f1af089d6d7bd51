#pragma once

#include <cstdint>

#include "easydata/stream/plan.h"

namespace easydata::plan {

/// Ends a stream after its first `max_rows` rows, which are those of the whole stream where it has
/// several lanes.
Result<StreamPlan> LimitPlan(const StreamPlan& upstream, int64_t max_rows);

}  // namespace easydata::plan
