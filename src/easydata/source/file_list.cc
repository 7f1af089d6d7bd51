#include "easydata/source/file_list.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace easydata::source {

Result<FileList> FileList::Make(std::vector<io::FileInfo> files) {
  std::unordered_set<std::string> seen;
  std::vector<std::string> uris;
  uris.reserve(files.size());
  for (const io::FileInfo& file : files) {
    if (!seen.insert(file.uri).second) {
      return Status::Invalid("the file ", file.uri, " is named twice; each may be given once");
    }
    uris.push_back(file.uri);
  }
  return FileList(std::move(uris), std::move(files));
}

nlohmann::json FileList::Describe(const std::string& kind) const {
  nlohmann::json out = {{"kind", kind}, {"files", uris_}};
  nlohmann::json& sizes = out["bytes"] = nlohmann::json::array();
  for (const io::FileInfo& file : files_) {
    sizes.push_back(file.size);
    if (file.identity.kind == io::IdentityKind::kTime) {
      out["mtimes"].push_back(file.identity.mtime_ns);
      if (!file.identity.tag.empty()) out["tags"].push_back(file.identity.tag);
    }
    if (file.identity.kind == io::IdentityKind::kContent)
      out["hashes"].push_back(file.identity.tag);
  }
  return out;
}

}  // namespace easydata::source
