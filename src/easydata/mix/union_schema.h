#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::mix {

/// Joins the columns of several sources, matched by name, in the order of their first appearance.
/// A column that some lack is null there. Types must have a CommonType(); else TypeError, which
/// names the column, both sources and both types.
///
/// Where one source has JSON text (json_column.h) all have: a whole row or a value that has a type
/// elsewhere is written as JSON.
Result<std::shared_ptr<arrow::Schema>> UnionSchema(
    const std::vector<std::string>& names,
    const std::vector<std::shared_ptr<arrow::Schema>>& schemas);

/// Casts the columns of a batch to the types of a union that it is part of.
Result<std::shared_ptr<arrow::RecordBatch>> ToUnion(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                    const arrow::Schema& schema);

}  // namespace easydata::mix
