#pragma once

#include "easydata/plan/logical_plan.h"
#include "easydata/transform/part_rows.h"

namespace easydata::plan {

/// Reads the rows of one part of `input`, whose rows come in the same order. Shares are exact where
/// the input states its rows (LogicalPlan::StatedRows). Invalid where the options are.
Result<LogicalPlanPtr> Part(LogicalPlanPtr input, transform::PartOptions options);

}  // namespace easydata::plan
