#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "easydata/files/file_system.h"
#include "easydata/stores/web/web_store.h"

namespace easydata::web {

/// Files at http and https addresses. Servers have no index that programs could read: files are
/// spelled out, or numbered in braces, which WebStore::Keep() makes names of.
class WebFileSystem final : public files::FileSystem {
 public:
  explicit WebFileSystem(std::shared_ptr<WebStore> store) : store_(std::move(store)) {}

  /// Asks for the size and identity of a file. Invalid for patterns.
  Result<files::Listing> List(const std::string& name,
                              const files::NameFilter& is_wanted) const override;
  Result<std::vector<files::Listing>> ListNames(const std::vector<std::string>& names,
                                                const files::NameFilter& is_wanted) const override;
  Status NothingFound(const std::string& pattern) const override;
  Result<files::FileInfo> Stat(const std::string& url) const override;
  bool Exists(const std::string& url) const override;
  /// Sends nothing: the first read finds out whether the file is still the listed one.
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> Open(
      const files::FileInfo& file) const override;
  bool IsKnownToDiffer(const files::FileInfo&) const override { return false; }

 private:
  const std::shared_ptr<WebStore> store_;
};

}  // namespace easydata::web
