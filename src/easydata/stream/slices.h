#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "easydata/stream/batch.h"

namespace easydata {

/// Stages hand on small batches that are slices of one. What works on many rows at once joins them
/// again, without a copy.

/// Rows of several batches, joined where they follow each other in memory.
struct JoinedRows {
  std::shared_ptr<arrow::RecordBatch> rows;
  size_t num_batches = 0;  // that they are the rows of
};

/// Joins the rows of `batches`, none of them ungathered, where they are slices of one.
std::vector<JoinedRows> JoinRows(std::span<const Batch> batches);

/// Joins such batches with addresses, spans and drop counts, as ConcatenateBatches() does.
std::vector<Batch> JoinSlices(std::vector<Batch> batches);

}  // namespace easydata
