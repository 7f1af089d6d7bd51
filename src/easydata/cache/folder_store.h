#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "easydata/cache/block_writer.h"
#include "easydata/cache/memory_blocks.h"
#include "easydata/cache/store_folder.h"
#include "easydata/cache/store_index.h"
#include "easydata/cache/stored_reads.h"
#include "easydata/cache/token_store.h"

namespace easydata::cache {

/// How a store behaves that tests want faster.
struct StoreTimes {
  /// How long a block that another one makes is waited for.
  std::chrono::milliseconds patience{10'000};
  std::chrono::milliseconds idle{2000};
  std::chrono::milliseconds pause{30'000};
};

/// A store of a folder, with some blocks in memory, or of these alone.
class FolderStore final : public TokenStore, public std::enable_shared_from_this<FolderStore> {
 public:
  /// `folder`: null for a store in memory.
  FolderStore(std::unique_ptr<StoreFolder> folder, std::string name,
              const TokenStoreOptions& options, const StoreTimes& times);
  ~FolderStore() override;

  /// Reads the index, and removes what is beyond the limits.
  Status Start();

  /// Flushes all stores of this process.
  static void FlushAll();

  std::optional<std::string> Facts(const BlockKey& key) override;
  Result<Found> Find(const BlockKey& key, const std::shared_ptr<arrow::Schema>& schema) override;
  void NotePlan(const BlockKey::Hash& plan, const std::string& json) override;
  Status Flush() override;
  TokenStoreStats stats() const override;

 private:
  class BlockClaim;
  class OpenStores;

  void RenewInChild();
  void NoteRunning(const BlockKey::Hash& plan);
  std::optional<KeptBlock> FindKept(const BlockKey& key,
                                    const std::shared_ptr<arrow::Schema>& schema);
  std::optional<KeptBlock> Read(const StoreIndex::Place& place, const BlockKey& key,
                                const std::shared_ptr<arrow::Schema>& schema);
  void Put(const BlockKey& key, bool is_taken, KeptBlock block);
  void Release(const BlockKey& key, bool is_taken);
  void MakeRoom(const std::string& kept);
  BlockWriter::Listener WriterListener();
  void AddNotice(const std::string& text);
  void TellNotices();

  const std::unique_ptr<StoreFolder> folder_;
  const std::string name_;
  const TokenStoreOptions options_;
  const StoreTimes times_;
  int64_t max_bytes_ = 0;
  StoreIndex index_;
  MemoryBlocks memory_;
  StoredReads reads_;
  std::atomic<int64_t> patience_ms_;

  std::mutex mutex_;  // guards what follows
  std::set<BlockKey::Hash> running_;
  std::vector<std::string> notices_;  // to be told

  // Of this process: a forked child leaves its parent's alone, and makes its own.
  uint64_t forks_ = 0;
  BlockWriter* writer_ = nullptr;

  std::atomic<int64_t> hits_ = 0, misses_ = 0, hit_bytes_ = 0, written_blocks_ = 0,
                       written_bytes_ = 0, dropped_blocks_ = 0, damaged_blocks_ = 0,
                       evicted_files_ = 0, waited_ = 0;
};

}  // namespace easydata::cache
