#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "easydata/plan/logical_plan.h"

namespace easydata::plan {

/// How many rows of a shard of the input lie within the limit, counted over its shards in order.
using RowsWithin = std::function<Result<int64_t>(const std::string& shard)>;

/// Reads the first `max_rows` rows of `input`, whose shards are `shards`. `rows` reads the same
/// rows one by one: shuffled, and where several shards are asked for that have no columns in
/// common.
LogicalPlanPtr Limited(LogicalPlanPtr input, std::vector<std::string> shards, int64_t max_rows,
                       RowsWithin rows_within, LogicalPlanPtr rows);

}  // namespace easydata::plan
