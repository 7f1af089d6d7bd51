#pragma once

#include <arrow/io/type_fwd.h>

#include <cstdint>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::source {

/// Rows of each record batch of an Arrow IPC file of the format with a footer, from the headers of
/// its batches: Arrow's own reader would read the batches themselves. Every offset is checked
/// before it is followed.
Result<std::vector<int64_t>> RowsOfBatches(arrow::io::RandomAccessFile* file);

}  // namespace easydata::source
