#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "easydata/files/range_locks.h"
#include "easydata/stream/block_store.h"

namespace easydata::cache {

/// What the bytes of a store's file of locks stand for: each thing has a byte of a region of its
/// own, by 60 bits of its hash.
enum class LockRegion : int64_t {
  kBlocks,      // locked by who makes a block
  kWanted,      // by who waits for one (shared)
  kPlans,       // by who runs a plan (shared)
  kUnfinished,  // by who writes a file
  kFolder,      // byte 0: by who changes the index; byte 1: who removes files
};
int64_t LockOffset(LockRegion region, uint64_t hash);

/// Who makes which block of a store: within this process by a table, between processes by locks.
/// Thread-safe.
class BlockClaims {
 public:
  /// `locks`: null for a store that has none. `folder`: for the notice that it has none.
  BlockClaims(files::RangeLocks* locks, std::string folder);

  /// Takes the right to make a block; false where somebody has it.
  bool TryTake(const BlockKey& key);
  void Release(const BlockKey& key);
  /// Of a forked child, whose parent's claims are not its own.
  void ForgetAll();

  /// Says that a block is waited for, as long as the object lives.
  class Want {
   public:
    Want(BlockClaims* claims, const BlockKey& key);
    ~Want();
    Want(const Want&) = delete;
    Want& operator=(const Want&) = delete;

   private:
    BlockClaims* const claims_;
    const BlockKey key_;
  };
  /// Whether anybody waits for a block, here or in another process.
  bool IsWanted(const BlockKey& key);

 private:
  bool Lock(int64_t offset, files::RangeLocks::Kind kind);
  void SayThereAreNoLocks(const Status& why);

  files::RangeLocks* const locks_;
  const std::string folder_;
  std::atomic<bool> has_locks_;
  std::mutex mutex_;
  std::set<BlockKey> taken_;
  std::multiset<BlockKey> wanted_;
};

}  // namespace easydata::cache
