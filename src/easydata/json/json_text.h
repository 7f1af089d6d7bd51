#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::json {

/// Whether JSON has such values itself, so that they read back as they were: no dates, no decimals.
bool IsJsonType(const arrow::DataType& type);

/// Invalid, naming the column, where values of the field's type have no JSON form (binary data,
/// maps, unions).
Status CheckJsonType(const arrow::Field& field);

/// Numbers that JSON does not have (NaN, the infinities), counted by column: of a row, its key.
using NonFiniteCounts = std::map<std::string, int64_t>;

/// Appends each row as a JSON object and a line feed. Lists of every kind become JSON lists, dates
/// and times their ISO text; columns of JSON text and whole rows (json_column.h) go out as they
/// are, a missing key stays missing. Numbers read back as the same values; NaN and the infinities
/// are written as Python's json module does, or with `nulls` as null, nested ones and those in JSON
/// text too, and counted there.
Status AppendJsonLines(const arrow::RecordBatch& batch, std::string* out,
                       NonFiniteCounts* nulls = nullptr);

/// Appends one value as JSON, a null as `null`; in the forms of AppendJsonLines.
Status AppendJsonValue(const arrow::Array& array, int64_t i, std::string* out);

/// Appends a number as Python's repr() has it.
void AppendJsonInteger(int64_t value, std::string* out);

/// Appends a finite number as Python's repr() has it: the fewest digits that read back as the
/// number.
void AppendFloatRepr(double number, std::string* out);

/// Appends `text` (UTF-8) as a JSON string with its quotes.
void AppendJsonString(std::string_view text, std::string* out);

}  // namespace easydata::json
