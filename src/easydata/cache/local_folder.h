#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "easydata/cache/store_folder.h"
#include "easydata/files/file_calls.h"
#include "easydata/files/range_locks.h"
#include "easydata/outputs/local_output_store.h"

namespace easydata::cache {

/// A store's folder on a disk of this machine, or one that is mounted here.
///
///     token_store.json       says that it is one, and its version
///     <hash>.tokens          token files, named by what they hold
///     plans/<hash>.json      what plans are made of
///     .easydata/index        which files there are, and their blocks
///     .easydata/locks        whose bytes processes lock (LockRegion)
///     .easydata/clock        touched to learn the time of the file system
///     .easydata/*.tmp        files that are being written
class LocalFolder final : public StoreFolder {
 public:
  /// Opens a folder, which is made where it is not there; removes what dead processes left
  /// half-written. Invalid where it is of a later version.
  static Result<std::unique_ptr<LocalFolder>> Open(const std::string& path);
  /// Opens one that is there, and changes nothing.
  static Result<std::unique_ptr<LocalFolder>> OpenThere(const std::string& path);

  Status Look(StoreIndex* index) override;
  Result<std::vector<std::string>> Names() override;
  Result<std::shared_ptr<TokenFile>> OpenFile(const std::string& name) override;
  Result<std::unique_ptr<UnfinishedFile>> Begin() override;
  void NoteUse(const std::string& name) override;
  void SetAside(const std::string& name) override;
  RoomMade MakeRoom(StoreIndex* index, const RoomLimits& limits) override;
  void NoteRunning(const BlockKey::Hash& plan) override;
  Status PutPlan(const BlockKey::Hash& plan, const std::string& json) override;
  std::string PlanOf(const BlockKey::Hash& plan) override;
  BlockClaims* claims() override { return &claims_; }

  /// A tenth of what is free on its disk or the store's own, at most 100 GB.
  int64_t DefaultLimit(int64_t own_bytes) const override;
  std::optional<int64_t> SecondsSinceUse(const std::string& name) override;

 private:
  class File;

  explicit LocalFolder(const std::string& path);

  std::string PathOf(const std::string& name) const { return store_.PathOf(name); }
  /// The present by the clock of its file system; nothing where it cannot be touched.
  std::optional<int64_t> Now() const;
  Status CheckMarker(bool* is_marked) const;
  Status Make();
  void RemoveLeftOvers();
  Status LookAtAll(StoreIndex* index);
  Status WriteIndex(const StoreIndex& index);
  Status AppendRecord(const IndexRecord& record);
  Status PutNew(const std::string& name, const std::string& content);
  bool IsRunning(const StoredFile& file, const RoomLimits& limits,
                 std::map<BlockKey::Hash, bool>* known);

  outputs::LocalOutputStore store_;
  files::RangeLocks locks_;
  BlockClaims claims_;

  std::mutex mutex_;                            // guards what follows
  std::optional<files::FileStamp> index_file_;  // as it was when it was last read
  int64_t index_read_ = 0;                      // bytes of it that were
  std::chrono::steady_clock::time_point looked_at_all_;
};

}  // namespace easydata::cache
