#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/source.h"
#include "easydata/stream/columns.h"

namespace easydata::source {

/// Projection of files that have a schema (Parquet, Arrow, CSV) onto the columns of their source.

/// The schema of the requested columns, or all. KeyError where one is missing; `where` names the
/// file.
Result<std::shared_ptr<arrow::Schema>> ChosenSchema(const arrow::Schema& file,
                                                    const Columns& columns,
                                                    const std::string& where);

/// The error of a file that has no column of a name: a KeyError with near misses.
Status MissingColumn(const arrow::Schema& file, const std::string& name, const std::string& where);

/// Indices into `file` of those fields of `wanted` that it has. KeyError where it lacks text or
/// tokens that are asked for; TypeError where all columns are asked for and `wanted`, the columns
/// of all files, has not one of the file's, or where a type is none of the wanted one.
Result<std::vector<int>> ChosenFields(const arrow::Schema& file, const arrow::Schema& wanted,
                                      const Columns& columns, const std::string& where);

/// Makes a block of the rows of a batch, the first `skip` left out, with the columns of `schema`: a
/// column that the batch lacks is null, one of another type is cast. A row of which a value does
/// not fit stops the block (kRaise) or is noted in `bad`.
Result<DecodedBlock> BlockInColumns(std::shared_ptr<arrow::RecordBatch> batch,
                                    const std::shared_ptr<arrow::Schema>& schema, int64_t skip,
                                    OnError on_error);

/// The batch with the columns of `schema`; Invalid, naming the column, where a value does not fit.
Result<std::shared_ptr<arrow::RecordBatch>> InColumns(
    const std::shared_ptr<arrow::RecordBatch>& batch, const std::shared_ptr<arrow::Schema>& schema);

}  // namespace easydata::source
