#include "easydata/source/file_list.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

namespace easydata {

Result<FileList> FileList::Make(std::vector<std::string> paths, const ListingOptions& options) {
  std::unordered_set<std::string> seen;
  std::vector<DataFile> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) {
    if (!seen.insert(path).second) {
      return Status::Invalid("the file ", path, " is named twice; each may be given once");
    }
    ARROW_ASSIGN_OR_RAISE(DataFile file, LookAtFile(path, options.identity, options.stop));
    files.push_back(std::move(file));
  }
  return FileList(std::move(paths), std::move(files));
}

nlohmann::json FileList::Describe(const std::string& kind) const {
  nlohmann::json out = {{"kind", kind}, {"files", paths_}};
  nlohmann::json& sizes = out["bytes"] = nlohmann::json::array();
  for (const DataFile& file : files_) {
    sizes.push_back(file.bytes);
    if (file.identity == FileIdentity::kTime) out["mtimes"].push_back(file.mtime_ns);
    if (file.identity == FileIdentity::kContent) out["hashes"].push_back(file.hash);
  }
  return out;
}

}  // namespace easydata
