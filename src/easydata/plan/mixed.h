#pragma once

#include <vector>

#include "easydata/mix/mix_order.h"
#include "easydata/plan/logical_plan.h"

namespace easydata::plan {

/// The only shard of mixed rows.
inline constexpr const char kMixedShard[] = "mixed_shard_0";

/// Mixes the rows of the inputs, by the names in `options`. Each row has the name of its input in
/// column `__source__` where that is asked for. `notice` is told what is worth a warning of their
/// tokens; may be null.
LogicalPlanPtr Mixed(std::vector<LogicalPlanPtr> inputs, mix::MixOptions options,
                     NoticeFunction notice = nullptr);

}  // namespace easydata::plan
