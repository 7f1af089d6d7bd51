#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "easydata/base/status.h"

namespace easydata::cache {

/// A batch as messages of Arrow's IPC: its dictionaries, if it has some, and its rows; without the
/// schema. Slices are their rows alone. Invalid where the batch is not, as ArrowFile has it.
Result<std::shared_ptr<arrow::Buffer>> EncodeMessage(const arrow::RecordBatch& batch);

/// The batch again, in the memory of `bytes`. Checked in full: Invalid where it is damaged.
Result<std::shared_ptr<arrow::RecordBatch>> DecodeMessage(
    const std::shared_ptr<arrow::Buffer>& bytes, const std::shared_ptr<arrow::Schema>& schema);

}  // namespace easydata::cache
