#pragma once

#include "easydata/plan/logical_plan.h"

namespace easydata::plan {

/// The only shard of shuffled rows.
inline constexpr const char kShuffledShard[] = "shuffled";

/// Reads the rows of `input` in a random order of each epoch, as one shard.
LogicalPlanPtr Shuffled(LogicalPlanPtr input, source::SourceShuffleOptions order);

}  // namespace easydata::plan
