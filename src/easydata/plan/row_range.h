#pragma once

#include <cstdint>
#include <optional>

#include "easydata/plan/logical_plan.h"

namespace easydata::plan {

inline constexpr char kChosenShard[] = "rows";

/// Leaves out the first `rows` rows of a stream, which are those of the whole stream where it has
/// several lanes.
Result<StreamPlan> SkipPlan(const StreamPlan& upstream, int64_t rows);

/// Reads the rows of `input` from number `begin` up to before `end`, or to its end, as one shard.
LogicalPlanPtr RowsBetween(LogicalPlanPtr input, int64_t begin, std::optional<int64_t> end);

}  // namespace easydata::plan
