#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/source/file_list.h"
#include "easydata/source/source.h"

namespace easydata::source {

/// A source whose shards are files, named by their URIs.
class FileSource : public Source {
 public:
  explicit FileSource(FileList files) : files_(std::move(files)) {}

  const std::vector<std::string>& shard_names() const override { return files_.uris(); }
  std::shared_ptr<const files::FileSystems> storage() const override {
    return files_.files().empty() ? nullptr : files_.files().front().storage;
  }
  std::optional<int64_t> KnownBytes(size_t shard) const override {
    return files_.files()[shard].size;
  }
  Result<std::optional<ShardIdentity>> Identity(size_t shard) const override {
    {
      std::lock_guard<std::mutex> lock(identities_mutex_);
      const auto known = identities_.find(shard);
      if (known != identities_.end()) return known->second;
    }
    ARROW_ASSIGN_OR_RAISE(const ShardIdentity identity, IdentityOfFile(files_.files()[shard]));
    std::lock_guard<std::mutex> lock(identities_mutex_);
    return identities_.emplace(shard, identity).first->second;
  }

 protected:
  const FileList& files() const { return files_; }

  /// The blocks of a file that another process found out (files::FileInfo::row_starts).
  std::optional<Blocks> ToldBlocks(size_t shard) const {
    const auto& told = files_.files()[shard].row_starts;
    if (told == nullptr) return std::nullopt;
    Blocks blocks;
    blocks.count = static_cast<int64_t>(told->size()) - 1;
    blocks.row_starts = *told;
    return blocks;
  }

 private:
  const FileList files_;
  mutable std::mutex identities_mutex_;
  mutable std::map<size_t, ShardIdentity> identities_;  // by shard
};

}  // namespace easydata::source
