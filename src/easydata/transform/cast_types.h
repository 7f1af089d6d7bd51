#pragma once

#include <memory>

#include "easydata/stream/batch_op.h"
#include "easydata/stream/column_types.h"

namespace easydata::transform {

/// Gives some columns, and fields in them, the types that they are to have (ColumnTypes::Cast);
/// columns that a batch lacks do not matter.
std::shared_ptr<const BatchOp> CastTypes(ColumnTypes types);

}  // namespace easydata::transform
