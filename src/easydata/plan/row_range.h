#pragma once

#include <cstdint>
#include <optional>

#include "easydata/plan/logical_plan.h"

namespace easydata::plan {

inline constexpr char kChosenShard[] = "rows";

/// Leaves out the first `rows` rows of a stream, which are those of the whole stream where it has
/// several lanes.
Result<StreamPlan> SkipPlan(const StreamPlan& upstream, int64_t rows);

/// Shuffles rows that were chosen of a source; Invalid where the order is one of all its rows.
Result<StreamPlan> ShuffleChosenRows(const LogicalPlan& chosen, const Request& request,
                                     const source::SourceShuffleOptions& order);

/// Reads the rows of `input` from number `begin` up to before `end`, or to its end, as one shard.
LogicalPlanPtr RowsBetween(LogicalPlanPtr input, int64_t begin, std::optional<int64_t> end);

}  // namespace easydata::plan
