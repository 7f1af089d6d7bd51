#pragma once

#include <string>

#include "easydata/stream/batch.h"
#include "operators/python_error.h"

namespace easydata {

/// The text of a row that has columns as JSON of its dict, or as Python shows that where JSON
/// cannot hold it (bytes, dates); see plan::RowText. Takes the GIL.
Result<std::string> PythonRowText(const Batch& batch, int64_t row);

}  // namespace easydata
