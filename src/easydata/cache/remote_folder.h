#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "easydata/cache/store_folder.h"
#include "easydata/files/file_system.h"
#include "easydata/outputs/output_store.h"
#include "easydata/storage/storage.h"

namespace easydata::cache {

/// A store's folder on an object store, which many machines share.
///
/// There are no locks, no index and no removals: the listing says which files there are, their
/// footers which blocks. A file is put whole, under a name that is made of its blocks; one that is
/// there already is left. Blocks are read by ranges.
class RemoteFolder final : public StoreFolder {
 public:
  static Result<std::unique_ptr<RemoteFolder>> Open(
      const std::string& folder, const std::shared_ptr<const storage::Storage>& storage);

  /// How it reaches the store; `system` outlives it. Two outputs, as a plan is noted while a file
  /// is sent.
  RemoteFolder(std::string folder, const files::FileSystem* system,
               std::unique_ptr<outputs::OutputStore> files,
               std::unique_ptr<outputs::OutputStore> plans);

  /// Lists at most once a minute.
  Status Look(StoreIndex* index) override;
  Result<std::vector<std::string>> Names() override;
  Result<std::shared_ptr<TokenFile>> OpenFile(const std::string& name) override;
  Result<std::unique_ptr<UnfinishedFile>> Begin() override;
  void NoteUse(const std::string&) override {}
  /// Forgets it, for this process.
  void SetAside(const std::string& name) override;
  RoomMade MakeRoom(StoreIndex*, const RoomLimits&) override { return {}; }
  int64_t DefaultLimit(int64_t own_bytes) const override;
  std::optional<int64_t> SecondsSinceUse(const std::string&) override { return std::nullopt; }
  void NoteRunning(const BlockKey::Hash&) override {}
  Status PutPlan(const BlockKey::Hash& plan, const std::string& json) override;
  std::string PlanOf(const BlockKey::Hash& plan) override;
  BlockClaims* claims() override { return &claims_; }

 private:
  class File;

  Result<std::map<std::string, files::FileInfo>> List() const;
  Result<std::shared_ptr<TokenFile>> OpenListed(const files::FileInfo& info) const;
  Status PutFile(const std::string& name, const std::string& content);

  const std::string folder_;
  const files::FileSystem* const system_;
  std::shared_ptr<const storage::Storage> storage_;  // kept
  BlockClaims claims_;

  std::mutex looking_;  // held while one thread lists
  std::optional<std::chrono::steady_clock::time_point> looked_;

  std::mutex mutex_;  // guards what follows
  std::map<std::string, std::shared_ptr<TokenFile>> opened_;
  std::set<std::string> damaged_;
  std::set<std::string> put_;

  std::mutex files_mutex_;
  const std::unique_ptr<outputs::OutputStore> files_;
  bool has_marker_ = false;
  std::mutex plans_mutex_;
  const std::unique_ptr<outputs::OutputStore> plans_;
};

}  // namespace easydata::cache
