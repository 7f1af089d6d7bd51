#pragma once

#include <memory>
#include <string>

#include "easydata/io/file_system.h"
#include "easydata/io/http_object.h"

namespace easydata::io {

/// Files at http and https addresses. Servers have no index that programs could read: files are
/// spelled out, or numbered in braces.
class HttpFileSystem : public FileSystem {
 public:
  explicit HttpFileSystem(HttpOptions options = {}) : options_(options) {}

  /// Addresses spelled out, or with braces: `{a,b}` is each of these, `{000..127}` each number with
  /// so many digits. Every file is asked for its size and identity, several at a time.
  Result<Listing> List(const std::string& pattern, const NameFilter& is_wanted) const override;
  Status NothingFound(const std::string& pattern) const override;
  Result<FileInfo> Stat(const std::string& url) const override;
  bool Exists(const std::string& url) const override;
  /// Sends nothing: the first read finds out whether the file is still the listed one.
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> Open(const FileInfo& file) const override;
  bool IsKnownToDiffer(const FileInfo&) const override { return false; }

 private:
  const HttpOptions options_;
};

}  // namespace easydata::io
