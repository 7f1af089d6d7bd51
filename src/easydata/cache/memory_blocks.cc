#include "easydata/cache/memory_blocks.h"

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <utility>

namespace easydata::cache {

int64_t BytesOf(const KeptBlock& block) {
  const auto bytes = static_cast<int64_t>(block.facts.size() + block.notes.size());
  if (block.rows == nullptr) return bytes;
  const auto rows = arrow::util::ReferencedBufferSize(*block.rows);
  return bytes + (rows.ok() ? *rows : arrow::util::TotalBufferSize(*block.rows));
}

void MemoryBlocks::Add(const BlockKey& key, SizedBlock block) {
  if (most_ <= 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto place = places_.find(key);
  if (place != places_.end()) {
    place->second->block = std::move(block);
    entries_.splice(entries_.begin(), entries_, place->second);
    return;
  }
  entries_.push_front({key, std::move(block)});
  places_[key] = entries_.begin();
  while (static_cast<int64_t>(entries_.size()) > most_) {
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::optional<SizedBlock> MemoryBlocks::Find(const BlockKey& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->block;
}

std::optional<std::string> MemoryBlocks::Facts(const BlockKey& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return std::nullopt;
  return place->second->block.block.facts;
}

}  // namespace easydata::cache
