#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "easydata/base/status.h"

namespace easydata::json {

/// JSON text that was written from Arrow arrays keeps them, so that a reader that knows Arrow need
/// not parse it.
///
/// The buffer of the text owns the arrays: a slice of the text has the same slice of the values,
/// and whatever copies or changes the text has none.

/// Writes each value as JSON text, as Python's json.dumps does without spaces and without escapes
/// of what is not ASCII: structs as objects, int64, double (finite), bool and utf8, no nulls.
Result<std::shared_ptr<arrow::StringArray>> WriteTypedText(
    const std::shared_ptr<arrow::Array>& values);

/// The values that a column of JSON text was written from, one a slot, none of them null; null
/// where the text is all there is.
std::shared_ptr<arrow::Array> TypedValuesOf(const arrow::StringArray& texts);

/// The same rows without these values, for caches, which count the bytes of the text alone.
std::shared_ptr<arrow::RecordBatch> WithoutTypedValues(
    const std::shared_ptr<arrow::RecordBatch>& rows);

}  // namespace easydata::json
