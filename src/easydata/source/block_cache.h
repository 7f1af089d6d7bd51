#pragma once

#include <cstdint>
#include <functional>
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

/// Gives a block of a shard, which consists of `blocks`, with all of its rows; an error where one
/// of them cannot be read.
using BlockReader = std::function<Result<Batch>(const std::shared_ptr<const ShardRef>& ref,
                                                size_t shard, const Blocks& blocks, int64_t block)>;

/// Reads blocks as the source has them.
BlockReader ReadsBlocksOf(std::shared_ptr<const Source> source, ReadOptions options,
                          std::shared_ptr<arrow::Schema> schema, ReadContext context);

/// Caches blocks of a source's shards, each with all of its rows: those used last, up to a number
/// of bytes. Thread-safe: a block that several ask for at once is read by one of them.
class BlockCache {
 public:
  BlockCache(BlockReader read, int64_t max_bytes) : read_(std::move(read)), max_bytes_(max_bytes) {}

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

  void Trim();

  const BlockReader read_;
  const int64_t max_bytes_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
  std::list<Key> used_;  // the one used last comes first
  int64_t bytes_ = 0;
};

}  // namespace easydata::source
