#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "operators/python_error.h"

namespace easydata {

/// Arrow data from and to Python by the Arrow PyCapsule protocol: no copy, no link to
/// libarrow_python. All need the GIL.

/// From anything with `__arrow_c_array__` (a pyarrow, polars or nanoarrow array).
Result<std::shared_ptr<arrow::Array>> ImportArray(nb::handle object);
/// From anything with `__arrow_c_stream__` (chunked arrays) or `__arrow_c_array__` (one chunk).
Result<std::shared_ptr<arrow::ChunkedArray>> ImportChunkedArray(nb::handle object);
Result<std::shared_ptr<arrow::RecordBatch>> ImportBatch(nb::handle object);
Result<std::shared_ptr<arrow::Schema>> ImportSchema(nb::handle object);

/// To pyarrow objects; pyarrow is imported by the first call.
nb::object ExportArray(const std::shared_ptr<arrow::Array>& array);
nb::object ExportBatch(const std::shared_ptr<arrow::RecordBatch>& batch);
nb::object ExportSchema(const std::shared_ptr<arrow::Schema>& schema);

}  // namespace easydata
