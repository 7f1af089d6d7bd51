#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "easydata/plan/logical_plan.h"

namespace easydata::plan {

/// A shard of one of several plans, and what it is called among those of all.
struct ConcatenatedShard {
  std::string name;
  size_t input = 0;
  std::string input_name;
};

/// Reads the rows of the inputs, one after the other, in common columns (ConcatInCommonColumns).
/// `rows` reads the same rows one by one, where they have no columns in common. `join` says how
/// tokens of several vocabularies are joined.
LogicalPlanPtr Concatenated(std::vector<LogicalPlanPtr> inputs,
                            std::vector<ConcatenatedShard> shards, LogicalPlanPtr rows,
                            JoinOptions join = {});

}  // namespace easydata::plan
