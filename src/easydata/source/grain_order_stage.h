#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/source.h"
#include "easydata/stream/stage.h"

namespace easydata::source {

struct GrainOrderOptions {
  std::string name;  // of the source, in addresses
  Columns columns;
  std::vector<size_t> shards;
  uint64_t seed = 0;
  /// Rows of an output batch, and of a task, which reads each of their blocks once.
  int64_t rows_per_batch = 4096;
  /// Content of decoded blocks that is kept for the next batches.
  int64_t cache_bytes = int64_t{256} << 20;
};

/// Gives all rows in the order of Grain's `MapDataset.source(...).shuffle(seed)`: place i of pass e
/// holds row index_shuffle(i, seed + e) of all rows of all shards (see GrainIndexShuffle).
///
/// Every place may lie in any block, so a batch reads nearly as many blocks as it has rows where
/// they are more than the cache holds: an order for data in memory or of small blocks. Rows that
/// cannot be read are an error here. Its cursor is {"place"}.
Result<std::unique_ptr<Stage>> MakeGrainOrderStage(std::shared_ptr<const Source> source,
                                                   const GrainOrderOptions& options,
                                                   const StageContext& context);

}  // namespace easydata::source
