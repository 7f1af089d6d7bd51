#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>

#include "easydata/base/status.h"

namespace easydata::json {

/// JSON text that was written from columns of Arrow keeps them, so that who knows Arrow need not
/// parse it.
///
/// They hang on the memory of the text: a slice of the text has the same slice of them, and
/// whatever copies or changes the text has none.

/// Writes each value as JSON text, as Python's json.dumps does without spaces and without escapes
/// of what is not ASCII: structs as objects, int64, double (finite), bool and utf8, no nulls.
Result<std::shared_ptr<arrow::StringArray>> WriteTypedText(
    const std::shared_ptr<arrow::Array>& values);

/// The values that a column of JSON text was written from, one a slot, none of them null; null
/// where the text is all there is.
std::shared_ptr<arrow::Array> TypedValuesOf(const arrow::StringArray& texts);

/// The same rows, whose JSON text has no values: for who keeps rows for long.
std::shared_ptr<arrow::RecordBatch> WithoutTypedValues(
    const std::shared_ptr<arrow::RecordBatch>& rows);

/// Appends a finite number as Python's repr() has it: the fewest digits that read back as the
/// number.
void AppendFloatRepr(double number, std::string* out);

}  // namespace easydata::json
