#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/plan/logical_plan.h"
#include "easydata/source/source.h"

namespace easydata::plan {

/// Rows from one to before another, by their numbers among those of all files.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};

/// The rows of files as one shard, of which the files are blocks: all of them, or those of ranges,
/// one range after the other.
///
/// `files` reads those of `source`. Rows are counted where a range, or a request, begins behind the
/// first one. `rows` reads the same row by row, which a shuffle of ranges needs; it may be null.
LogicalPlanPtr OneShard(LogicalPlanPtr files, std::shared_ptr<const source::Source> source,
                        std::string name, std::optional<std::vector<RowRange>> ranges,
                        LogicalPlanPtr rows);

}  // namespace easydata::plan
