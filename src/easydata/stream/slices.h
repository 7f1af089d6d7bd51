#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "easydata/stream/batch.h"

namespace easydata {

/// Batches that are slices of one, following each other, joined again without copying a byte: what
/// works on many rows at once need not know how small the pieces are that a stage hands on.

/// Rows of several batches, joined where they follow each other in memory.
struct JoinedRows {
  std::shared_ptr<arrow::RecordBatch> rows;
  size_t num_batches = 0;  // that they are the rows of
};

/// Joins what can be joined of `batches`, none of them ungathered, in order.
std::vector<JoinedRows> JoinSlices(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches);

/// The same with addresses, spans and drop counts, as ConcatenateBatches() joins them.
std::vector<Batch> JoinSlices(std::vector<Batch> batches);

}  // namespace easydata
