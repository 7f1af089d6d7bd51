#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "easydata/plan/logical_plan.h"
#include "easydata/source/source.h"

namespace easydata::plan {

/// Reads rows of files by their numbers among those of all files, in this order, as one shard.
/// `columns`: those that the source was made to read; all by default.
LogicalPlanPtr SelectedRows(std::shared_ptr<const source::Source> source, std::string name,
                            std::vector<int64_t> numbers,
                            std::optional<std::vector<std::string>> columns);

}  // namespace easydata::plan
