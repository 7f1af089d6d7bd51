#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/outputs/output_store.h"

namespace easydata::outputs {

/// An output in a folder of this machine. Incomplete files have their UnfinishedName(); a name is
/// given by rename(2), and waited for. The lock ends with the process.
class LocalOutputStore final : public OutputStore {
 public:
  explicit LocalOutputStore(std::string folder) : OutputStore(std::move(folder)) {}
  ~LocalOutputStore() override;

  Result<files::PathKind> KindOfFolder() const override;
  Result<files::PathKind> KindOf(const std::string& name) const override;
  Result<std::vector<std::string>> NamesIn(const std::string& folder) const override;
  Result<std::optional<int64_t>> SizeOf(const std::string& name) const override;
  Result<std::string> HashOf(const std::string& name,
                             const std::function<bool()>& stopped) const override;
  Result<std::string> Read(const std::string& name) const override;
  Status MakeFolder(const std::string& name, bool* made) override;
  Status RemoveFolder(const std::string& name) override;
  Status Lock(const std::string& name) override;
  Status RemoveLock() override;
  void Unlock() override;
  Status Put(const std::string& name, const std::string& content) override;
  Status Append(const std::string& name, const std::string& addition) override;
  Result<std::shared_ptr<OutputFile>> OpenNew(const std::string& name) override;
  Status Publish(const std::string& name) override;
  Status Move(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& name) override;
  Status Sync(const std::string& folder) override;

 private:
  /// The path of a folder, by its name.
  std::string FolderOf(const std::string& name) const;

  std::string lock_;
  int lock_fd_ = -1;
};

}  // namespace easydata::outputs
