#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "easydata/source/source.h"
#include "easydata/stream/address.h"

namespace easydata::source {

/// Finds the shard and block of each row of a source.
struct RowIndex {
  std::vector<size_t> shards;
  std::vector<std::shared_ptr<const ShardRef>> refs;
  std::vector<Blocks> blocks;  // by shard
  std::vector<int64_t> ends;   // rows up to the end of each shard

  int64_t num_rows() const { return ends.empty() ? 0 : ends.back(); }

  struct Location {
    size_t shard;  // an index into `shards`
    int64_t block;
    int64_t row;  // of the block
  };
  /// The shard of a row, and its number there.
  std::pair<size_t, int64_t> RowOf(int64_t row) const {
    const auto shard =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), row) - ends.begin());
    return {shard, shard > 0 ? row - ends[shard - 1] : row};
  }
  Location At(int64_t number) const {
    const auto [shard, row] = RowOf(number);
    const std::vector<int64_t>& starts = blocks[shard].row_starts;
    const auto block = std::upper_bound(starts.begin(), starts.end(), row) - starts.begin() - 1;
    return {shard, block, row - starts[block]};
  }
};

}  // namespace easydata::source
