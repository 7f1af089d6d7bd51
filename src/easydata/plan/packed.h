#pragma once

#include "easydata/plan/logical_plan.h"
#include "easydata/plan/packed_plan.h"

namespace easydata::plan {

/// The only shard of packed rows.
inline constexpr const char kPackedShard[] = "packed_shard_0";

/// Packs the lists of tokens of `input`. Where the options name no token fields, those by default
/// are packed that its rows have.
LogicalPlanPtr Packed(LogicalPlanPtr input, PackedOptions options);

}  // namespace easydata::plan
