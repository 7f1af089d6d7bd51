#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/stream/batch_op.h"
#include "easydata/stream/columns.h"

namespace easydata::transform {

/// Gives exactly the requested columns, in their order and kind: JSON values become text or tokens,
/// typed columns stay as they are. A missing column is a KeyError that names near misses; a JSON
/// value of another kind is an error of its row.
///
/// `known` are further candidates for near misses: names of columns that were not read, as they
/// were not requested.
std::shared_ptr<const BatchOp> ConformColumns(std::vector<ColumnRequest> columns,
                                              std::vector<std::string> known = {});

}  // namespace easydata::transform
