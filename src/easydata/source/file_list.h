#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/io/local_file.h"

namespace easydata {

struct ListingOptions {
  FileIdentity identity = FileIdentity::kTime;
  /// Asked now and then while files are hashed (kContent): true ends that with Cancelled.
  std::function<bool()> stop;
};

/// The files of a source: one shard each, named by its path.
class FileList {
 public:
  /// Looks at each file once: it is to be the same when it is read. Invalid where a path comes
  /// twice: shards need names of their own.
  static Result<FileList> Make(std::vector<std::string> paths, const ListingOptions& options);

  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<DataFile>& files() const { return files_; }

  /// {"kind", "files", "bytes"} and, by the files' identity, "mtimes" or
  /// "hashes": as the files were when they were listed.
  nlohmann::json Describe(const std::string& kind) const;

 private:
  FileList(std::vector<std::string> paths, std::vector<DataFile> files)
      : paths_(std::move(paths)), files_(std::move(files)) {}
  std::vector<std::string> paths_;
  std::vector<DataFile> files_;
};

}  // namespace easydata
