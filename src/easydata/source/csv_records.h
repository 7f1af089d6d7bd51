#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/source/csv_dialect.h"
#include "easydata/source/record_reader.h"

namespace easydata::source {

/// Splits a record into fields; `scratch` keeps those that had to be unquoted. The number, from 1
/// on, of the first field with text behind its closing quote, or 0.
size_t SplitCsvRecord(std::string_view record, const CsvDialect& dialect,
                      std::vector<std::string_view>* fields, std::vector<std::string>* scratch);

/// Finds the records of what a window shows. By default they are those of Python's csv module,
/// "excel", strict: fields may be quoted by '"', a quote inside is doubled, nothing may stand
/// behind the quote that closes a field, a quote that is not at a field's begin is a character like
/// any other, and "\r", "\n" and "\r\n" end a record.
std::unique_ptr<RecordCutter> MakeCsvCutter(std::unique_ptr<TextWindow> window,
                                            const CsvDialect& dialect);

}  // namespace easydata::source
