#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "easydata/stream/block_store.h"

namespace easydata::cache {

/// A block that is kept in memory, with what it takes there.
struct SizedBlock {
  KeptBlock block;
  int64_t bytes = 0;
};

/// The blocks that were used last, in memory. Thread-safe.
class MemoryBlocks {
 public:
  explicit MemoryBlocks(int64_t most) : most_(most) {}

  void Add(const BlockKey& key, SizedBlock block);
  std::optional<SizedBlock> Find(const BlockKey& key);
  std::optional<std::string> Facts(const BlockKey& key) const;

 private:
  struct Entry {
    BlockKey key;
    SizedBlock block;
  };

  const int64_t most_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // those used last in front
  std::map<BlockKey, std::list<Entry>::iterator> places_;
};

/// What the rows of a block take in memory.
int64_t BytesOf(const KeptBlock& block);

}  // namespace easydata::cache
