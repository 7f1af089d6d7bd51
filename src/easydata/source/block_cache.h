#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/source.h"
#include "easydata/stream/batch.h"

namespace easydata::source {

/// Caches decoded blocks of a source's shards, each with all of its rows: those used last, up to a
/// number of bytes. Thread-safe: a block that several ask for at once is read by one of them.
class BlockCache {
 public:
  BlockCache(std::shared_ptr<const Source> source, ReadOptions options,
             std::shared_ptr<arrow::Schema> schema, ReadContext context, int64_t max_bytes);

  /// Block `block` of `shard`, which consists of `blocks`, with all rows: one that cannot be read
  /// is an error.
  Result<std::shared_ptr<const Batch>> Get(const std::shared_ptr<const ShardRef>& ref, size_t shard,
                                           const Blocks& blocks, int64_t block);

 private:
  using Key = std::pair<size_t, int64_t>;
  struct Entry {
    std::mutex reading;
    std::shared_ptr<const Batch> rows;  // null until read
    int64_t bytes = 0;
    std::list<Key>::iterator lru_iterator;  // its key in used_
  };

  Result<Batch> Read(const std::shared_ptr<const ShardRef>& ref, size_t shard, const Blocks& blocks,
                     int64_t block) const;
  void Trim();

  const std::shared_ptr<const Source> source_;
  const ReadOptions options_;
  const std::shared_ptr<arrow::Schema> schema_;
  const ReadContext context_;
  const int64_t max_bytes_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
  std::list<Key> used_;  // the one used last comes first
  int64_t bytes_ = 0;
};

}  // namespace easydata::source
