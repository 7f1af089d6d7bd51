#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/plan/logical_plan.h"
#include "easydata/source/source.h"

namespace easydata::plan {

/// Reads rows of files. `options` have what belongs to the source itself: its name, and what
/// becomes of rows and files that cannot be read; the rest is asked for. `columns`: those that the
/// source was made to read; all by default.
LogicalPlanPtr FileRows(std::shared_ptr<const source::Source> source,
                        source::SourceStageOptions options,
                        std::optional<std::vector<std::string>> columns);

}  // namespace easydata::plan
