#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/stream/batch_op.h"

namespace easydata::transform {

/// Keeps the rows in which every named column holds something: null, "" and [] count as nothing; 0,
/// {} and blanks do not. A column that the batch lacks is nothing in every row.
std::shared_ptr<const BatchOp> FilterNonEmpty(std::vector<std::string> names);

}  // namespace easydata::transform
