#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/concat_stage.h"
#include "easydata/stream/columns.h"

namespace easydata::plan {

/// The rows of the first part, then those of the second, and so on, in common columns.
///
/// Where all have the same columns, in whatever order, each becomes the type that holds the values
/// of all (CommonType). Otherwise rows lose their types as those of JSON files, so that no row gets
/// a column that it lacks. Nothing where a part has values that JSON has not.
///
/// The parts give the requested `columns`; there is at least one.
Result<std::optional<StreamPlan>> ConcatInCommonColumns(std::vector<source::ConcatPart> parts,
                                                        const Columns& columns,
                                                        const JoinOptions& join = {});

}  // namespace easydata::plan
