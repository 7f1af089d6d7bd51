#pragma once

#include <memory>
#include <string>

#include "easydata/files/file_system.h"

namespace easydata::files {

/// The files of this machine; URIs are paths.
///
/// Bytes are copied (pread) and nothing is mapped: a file that is cut short under a mapping ends
/// the process. Opening never blocks, whatever is under the name.
class LocalFileSystem : public FileSystem {
 public:
  Result<Listing> List(const std::string& pattern, const NameFilter& is_wanted) const override;
  Status NothingFound(const std::string& pattern) const override;
  Result<FileInfo> Stat(const std::string& path) const override;
  bool Exists(const std::string& path) const override;
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> Open(const FileInfo& file) const override;
  bool IsKnownToDiffer(const FileInfo& file) const override;
};

}  // namespace easydata::files
