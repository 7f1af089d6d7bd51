#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "easydata/base/status.h"

namespace easydata {

/// Every row of the batch as one JSON object; Invalid where a column has no JSON form.
Result<std::shared_ptr<arrow::Array>> RowsAsJson(const arrow::RecordBatch& rows);

/// Every value of a column as JSON text, a null as `null`; Invalid where it has no JSON form.
Result<std::shared_ptr<arrow::Array>> ValuesAsJson(const arrow::Field& field,
                                                   const arrow::Array& values);

}  // namespace easydata
