#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "easydata/base/status.h"

namespace easydata {

/// The files of a source: one shard each, named by its path.
class FileList {
 public:
  /// Invalid where a path comes twice: shards need names of their own.
  static Result<FileList> Make(std::vector<std::string> paths);

  const std::vector<std::string>& paths() const { return paths_; }

  /// {"source.kind", "source.files", "source.bytes"}: sizes tell a file that was exchanged.
  nlohmann::json Describe(const std::string& kind) const;

 private:
  explicit FileList(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  std::vector<std::string> paths_;
};

}  // namespace easydata
