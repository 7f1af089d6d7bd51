#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"

namespace easydata {

/// Counts what was dropped, joined to an earlier count of the same source and reason.
void CountDropped(std::vector<DropCount>* counts, const DropCount& count);

/// Counts `rows` rows from `first` on and `tokens` tokens as dropped, likewise.
void CountDropped(std::vector<DropCount>* counts, const Address& first, const std::string& reason,
                  int64_t rows, int64_t tokens = 0);

/// Adds rows `lost` of `batch`, and the tokens in their `input_ids`, to the drop counts of `out`.
void CountDropped(Batch* out, const Batch& batch, const std::vector<int64_t>& lost,
                  const std::string& reason);

/// Keeps the rows of `batch` named by `keep` (ascending); counts the others as dropped for
/// `reason`.
Result<Batch> KeepRows(const Batch& batch, const std::vector<int64_t>& keep,
                       const std::string& reason);

/// Does the same for several batches, each with its own list of rows. Batches that are slices of
/// one are copied together, and the results are slices, too.
Result<std::vector<Batch>> KeepRowsOfEach(std::span<const Batch> batches,
                                          const std::vector<std::vector<int64_t>>& keep,
                                          const std::string& reason);

}  // namespace easydata
