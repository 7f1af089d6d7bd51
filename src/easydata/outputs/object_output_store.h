#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "easydata/files/file_info.h"
#include "easydata/outputs/object_lock.h"
#include "easydata/outputs/object_upload.h"
#include "easydata/outputs/output_store.h"
#include "easydata/stores/object_store.h"

namespace easydata::outputs {

/// An output below a prefix of an object store.
///
/// Folders are what keys have in common up to a "/", and need not be made. Incomplete files are
/// uploads in parts, which nobody sees; those that earlier writers left open are ended when the
/// lock is taken. A file is moved by a copy. What is there is listed once, and then kept up to date
/// by what this object changes. Nothing is written any more once the lock is another's.
class ObjectOutputStore final : public OutputStore {
 public:
  /// `folder`: "s3://bucket/some/prefix".
  static Result<std::unique_ptr<OutputStore>> Make(std::shared_ptr<const stores::ObjectStore> store,
                                                   std::string folder, LockTimes times = {});
  ~ObjectOutputStore() override;

  Result<files::PathKind> KindOfFolder() const override;
  Result<files::PathKind> KindOf(const std::string& name) const override;
  Result<std::vector<std::string>> NamesIn(const std::string& folder) const override;
  bool is_remote() const override { return true; }
  void LookAnew() override { listed_.clear(); }
  void ExpectOtherWriters() override { others_write_ = true; }
  Result<std::optional<int64_t>> SizeOf(const std::string& name) const override;
  Result<std::string> HashOf(const std::string& name,
                             const std::function<bool()>& stopped) const override;
  Result<std::string> Read(const std::string& name) const override;
  Status MakeFolder(const std::string& name, bool* made) override;
  Status RemoveFolder(const std::string&) override { return Status::OK(); }
  Status Lock(const std::string& name) override;
  Status RemoveLock() override;
  void Unlock() override;
  std::string notice() const override { return notice_; }
  Status Put(const std::string& name, const std::string& content) override;
  Status Append(const std::string& name, const std::string& addition) override;
  Result<std::shared_ptr<OutputFile>> OpenNew(const std::string& name) override;
  Status Publish(const std::string& name) override;
  Status Move(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& name) override;
  Status RemoveAll(const std::vector<std::string>& names) override;
  Status Sync(const std::string&) override { return Status::OK(); }

 private:
  /// What is directly within a folder.
  struct Listed {
    std::map<std::string, files::FileInfo> files;
    std::set<std::string> folders;
  };

  ObjectOutputStore(std::shared_ptr<const stores::ObjectStore> store, std::string folder,
                    std::string bucket, std::string prefix, LockTimes times);

  Result<const Listed*> List(const std::string& folder) const;
  Result<const files::FileInfo*> Find(const std::string& name) const;
  void NoteFile(const std::string& name, int64_t size);
  void NoteRemoved(const std::string& name);
  Status CheckLock();
  Status EndOpenUploads();
  Status CopyByReading(const std::string& from, const std::string& to);
  void AddNotice(const std::string& text);
  bool may_be_uploads() const { return others_write_ || sender_->has_begun(); }

  const std::shared_ptr<const stores::ObjectStore> store_;
  const std::string bucket_;
  const std::string prefix_;  // of all keys: "" or up to a "/"
  const LockTimes times_;
  mutable std::map<std::string, Listed> listed_;  // by folder
  std::unique_ptr<ObjectLock> lock_;
  std::string notice_;
  std::map<std::string, std::string> put_;  // the content of what Append() may add to, by name
  std::shared_ptr<PartSender> sender_;
  bool others_write_ = false;
  std::map<std::string, std::shared_ptr<ObjectUpload>> opened_;  // by name
};

}  // namespace easydata::outputs
