#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/columns.h"

namespace easydata::source {

/// Projection of sources that have a schema (Parquet, Arrow, CSV): the first shard's schema holds
/// for all.

/// The schema of the requested columns, or all. KeyError where one is missing; `where` names the
/// file.
Result<std::shared_ptr<arrow::Schema>> ChosenSchema(const arrow::Schema& file,
                                                    const Columns& columns,
                                                    const std::string& where);

/// Indices into `file` of the fields of `wanted`. KeyError where a column is missing, TypeError
/// where it has another type than in the first shard.
Result<std::vector<int>> ChosenFields(const arrow::Schema& file, const arrow::Schema& wanted,
                                      const std::string& where);

/// The columns of `schema`, in its order, by name.
Result<std::shared_ptr<arrow::RecordBatch>> ChooseColumns(
    const std::shared_ptr<arrow::RecordBatch>& batch, const std::shared_ptr<arrow::Schema>& schema);

}  // namespace easydata::source
