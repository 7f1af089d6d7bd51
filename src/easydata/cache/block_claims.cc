#include "easydata/cache/block_claims.h"

#include <arrow/util/io_util.h>

#include <cerrno>
#include <utility>

#include "easydata/exec/notice.h"

namespace easydata::cache {

using files::RangeLocks;

int64_t LockOffset(LockRegion region, uint64_t hash) {
  constexpr int kBits = 60;
  const uint64_t within = hash & ((uint64_t{1} << kBits) - 1);
  return static_cast<int64_t>((static_cast<uint64_t>(region) << kBits) | within);
}

BlockClaims::BlockClaims(RangeLocks* locks, std::string folder)
    : locks_(locks), folder_(std::move(folder)), has_locks_(locks != nullptr) {}

void BlockClaims::ForgetAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  taken_.clear();
  wanted_.clear();
}

bool BlockClaims::Lock(int64_t offset, RangeLocks::Kind kind) {
  if (!has_locks_) return true;
  const auto locked = locks_->TryLock(offset, kind);
  if (locked.ok()) return *locked;
  SayThereAreNoLocks(locked.status());
  return true;
}

void BlockClaims::SayThereAreNoLocks(const Status& why) {
  const int error = arrow::internal::ErrnoFromStatus(why);
  // A folder that went away comes again with the next file; of one that nothing can be written to
  // the writer tells.
  if (error == ENOENT) return;
  if (!has_locks_.exchange(false)) return;
  const bool is_writers =
      error == EACCES || error == EPERM || error == EROFS || error == ENOSPC || error == EDQUOT;
  if (is_writers) return;
  exec::Notify("the cache in " + folder_ +
               " cannot keep two processes from making the same block: " + why.message());
}

bool BlockClaims::TryTake(const BlockKey& key) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!taken_.insert(key).second) return false;
  }
  if (Lock(LockOffset(LockRegion::kBlocks, key.block[1]), RangeLocks::Kind::kAlone)) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  taken_.erase(key);
  return false;
}

void BlockClaims::Release(const BlockKey& key) {
  if (has_locks_) locks_->Unlock(LockOffset(LockRegion::kBlocks, key.block[1]));
  std::lock_guard<std::mutex> lock(mutex_);
  taken_.erase(key);
}

BlockClaims::Want::Want(BlockClaims* claims, const BlockKey& key) : claims_(claims), key_(key) {
  {
    std::lock_guard<std::mutex> lock(claims_->mutex_);
    claims_->wanted_.insert(key);
  }
  (void)claims_->Lock(LockOffset(LockRegion::kWanted, key.block[1]), RangeLocks::Kind::kShared);
}

BlockClaims::Want::~Want() {
  std::lock_guard<std::mutex> lock(claims_->mutex_);
  const auto own = claims_->wanted_.find(key_);
  if (own != claims_->wanted_.end()) claims_->wanted_.erase(own);
  // Another thread may wait on.
  if (claims_->wanted_.contains(key_) || !claims_->has_locks_) return;
  claims_->locks_->Unlock(LockOffset(LockRegion::kWanted, key_.block[1]));
}

bool BlockClaims::IsWanted(const BlockKey& key) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (wanted_.contains(key)) return true;
  }
  if (!has_locks_) return false;
  const auto locked = locks_->IsLockedByOther(LockOffset(LockRegion::kWanted, key.block[1]));
  return locked.ok() && *locked;
}

}  // namespace easydata::cache
