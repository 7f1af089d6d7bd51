#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "easydata/stream/batch_op.h"
#include "easydata/stream/columns.h"

namespace easydata::transform {

/// Gives the columns of `schema`, matched by name and cast to its types, in its order. TypeError
/// where a batch has no such column.
std::shared_ptr<const BatchOp> CastColumns(std::shared_ptr<arrow::Schema> schema);

/// Gives rows without a type of their own (json_column.h): the one column kRowColumn, or the
/// requested columns as JSON text, but those that are text or tokens already, as is wanted.
std::shared_ptr<const BatchOp> ColumnsToJson(Columns columns);

}  // namespace easydata::transform
