#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "easydata/base/status.h"

namespace easydata {

/// The type that holds the values of both, or null: strings and lists with offsets of 32 and 64
/// bits, and integers of different widths, become the wider one; else types must agree.
std::shared_ptr<arrow::DataType> CommonType(const std::shared_ptr<arrow::DataType>& a,
                                            const std::shared_ptr<arrow::DataType>& b);

/// Every row of the batch as one JSON object; Invalid where a column has no JSON form.
Result<std::shared_ptr<arrow::Array>> RowsAsJson(const arrow::RecordBatch& rows);

/// Every value of a column as JSON text, a null as `null`; Invalid where it has no JSON form.
Result<std::shared_ptr<arrow::Array>> ValuesAsJson(const arrow::Field& field,
                                                   const arrow::Array& values);

}  // namespace easydata
