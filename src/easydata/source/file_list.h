#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"

namespace easydata::source {

/// The files of a source as they were listed: one shard each, named by its URI. Does no I/O.
class FileList {
 public:
  /// Invalid where a URI occurs twice: shards need distinct names.
  static Result<FileList> Make(std::vector<files::FileInfo> files);

  const std::vector<std::string>& uris() const { return uris_; }
  const std::vector<files::FileInfo>& files() const { return files_; }

  /// {"kind", "files", "bytes"} and, by the files' identity, "mtimes" with a server's "tags", or
  /// "hashes": as the files were when they were listed. Those that are known by content or size
  /// have "names" as well, below the folder that all of them lie in: a state goes on with a copy of
  /// them elsewhere. So do files on the Hub, whose tags are hashes of their content: with the same
  /// ones at another commit, and with "revisions" for errors.
  nlohmann::json Describe(const std::string& kind) const;

  /// The files' names below the folder that all of them lie in, without commits.
  static std::vector<std::string> NamesBelowFolder(std::vector<std::string> uris);

  /// The name of a file without the commit that one on the Hub has in it.
  static std::string WithoutCommit(const std::string& uri);

 private:
  FileList(std::vector<std::string> uris, std::vector<files::FileInfo> files)
      : uris_(std::move(uris)), files_(std::move(files)) {}
  std::vector<std::string> uris_;
  std::vector<files::FileInfo> files_;
};

}  // namespace easydata::source
