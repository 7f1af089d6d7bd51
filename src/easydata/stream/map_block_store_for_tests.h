#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "easydata/stream/block_store.h"

namespace easydata {

/// The literal block store: a map, in which nobody waits.
class MapBlockStore : public BlockStore, public std::enable_shared_from_this<MapBlockStore> {
 public:
  std::optional<std::string> Facts(const BlockKey& key) override {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(key);
    if (found == blocks_.end()) return std::nullopt;
    return found->second.facts;
  }

  Result<Found> Find(const BlockKey& key, const std::shared_ptr<arrow::Schema>& schema) override {
    std::lock_guard<std::mutex> lock(mutex_);
    ++lookups;
    if (forget != nullptr && forget(lookups)) blocks_.erase(key);
    const auto found = blocks_.find(key);
    if (found != blocks_.end()) {
      ++hits;
      return Found{found->second, nullptr};
    }
    return Found{std::nullopt, std::make_unique<MapClaim>(shared_from_this(), key)};
  }

  /// Forgets every `n`-th block, counted from `first`.
  void Evict(int first, int n) {
    std::lock_guard<std::mutex> lock(mutex_);
    int i = 0;
    std::erase_if(blocks_, [&](const auto&) { return i++ % n == first; });
  }

  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return blocks_.size();
  }

  /// Whether the block of this lookup is lost just before it.
  std::function<bool(int)> forget;
  int lookups = 0;
  int hits = 0;
  int puts = 0;

 private:
  class MapClaim : public Claim {
   public:
    MapClaim(std::shared_ptr<MapBlockStore> store, const BlockKey& key)
        : store_(std::move(store)), key_(key) {}
    void Put(KeptBlock block) override {
      std::lock_guard<std::mutex> lock(store_->mutex_);
      ++store_->puts;
      store_->blocks_[key_] = std::move(block);
    }

   private:
    const std::shared_ptr<MapBlockStore> store_;
    const BlockKey key_;
  };

  mutable std::mutex mutex_;
  std::map<BlockKey, KeptBlock> blocks_;
};

}  // namespace easydata
