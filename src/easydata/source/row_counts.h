#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace easydata::source {

/// Remembers how many rows shards have, once that was found out. Thread-safe.
class RowCounts {
 public:
  explicit RowCounts(size_t num_shards) : rows_(num_shards) {}

  std::optional<int64_t> Get(size_t shard) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return rows_[shard];
  }

  /// Returns `rows`.
  int64_t Remember(size_t shard, int64_t rows) {
    std::lock_guard<std::mutex> lock(mutex_);
    rows_[shard] = rows;
    return rows;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::optional<int64_t>> rows_;
};

}  // namespace easydata::source
