#pragma once

#include <map>
#include <memory>
#include <string>

#include "easydata/exec/work_gate.h"
#include "easydata/stores/hub/hub_index.h"
#include "easydata/stores/hub/hub_store.h"
#include "easydata/stores/keyed_file_system.h"

namespace easydata::hub {

/// Files of repositories of the Hugging Face Hub. They are called by the commit that their revision
/// was when they were listed, so that a branch that moves later changes nothing; what is at a
/// commit is listed once. Files that huggingface_hub has in its cache are read from there.
class HubFileSystem final : public stores::KeyedFileSystem {
 public:
  HubFileSystem(const http::HttpOptions& options, std::shared_ptr<const HubIndex> index);

  /// The name of a file or folder by the commit that its revision is now.
  Result<std::string> Pinned(const std::string& uri) const;

  /// All that lies in the repository that an address names, by pinned names.
  Result<std::shared_ptr<const HubTree>> TreeOf(const std::string& uri) const;

  /// What was listed; nothing is asked again.
  Result<files::FileInfo> Stat(const std::string& uri) const override;
  /// Sends nothing: the first read finds out where the file is.
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> Open(
      const files::FileInfo& file) const override;

  const std::shared_ptr<files::IoCounters>& shared_counters() const {
    return store_->shared_counters();
  }

 private:
  Result<RootAndKey> Split(const std::string& uri) const override;
  Result<stores::ObjectPage> ListAll(const RootAndKey& prefix, bool by_folder) const override;
  Result<stores::ObjectPage> ListSome(const RootAndKey& folder) const override;

  /// What lies in a repository now.
  Result<std::shared_ptr<const HubTree>> TreeOf(const Repository& repository) const;
  /// The same, asked for; again where that may help.
  Result<HubTree> Ask(const Repository& repository) const;

  const std::shared_ptr<const HubIndex> index_;
  const std::shared_ptr<const HubStore> store_;
  mutable exec::ForkableMutex mutex_;  // held while the Hub is asked: one list for all who want it
  mutable std::map<std::string, std::shared_ptr<const HubTree>> trees_;  // by pinned root
};

}  // namespace easydata::hub
