#include "easydata/source/file_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace easydata::source {

Result<FileList> FileList::Make(std::vector<files::FileInfo> files) {
  std::unordered_set<std::string> seen;
  std::vector<std::string> uris;
  uris.reserve(files.size());
  for (const files::FileInfo& file : files) {
    if (!seen.insert(file.uri).second) {
      return Status::Invalid("the file ", file.uri, " is named twice; each may be given once");
    }
    uris.push_back(file.uri);
  }
  return FileList(std::move(uris), std::move(files));
}

namespace {

/// The files' names below the folder that all of them lie in.
std::vector<std::string> NamesBelowFolder(const std::vector<std::string>& uris) {
  if (uris.empty()) return uris;
  std::string folder = uris.front().substr(0, uris.front().rfind('/') + 1);
  for (const std::string& uri : uris) {
    while (!uri.starts_with(folder)) {
      folder.pop_back();
      folder.resize(folder.rfind('/') + 1);
    }
  }
  std::vector<std::string> names;
  for (const std::string& uri : uris) names.push_back(uri.substr(folder.size()));
  return names;
}

}  // namespace

nlohmann::json FileList::Describe(const std::string& kind) const {
  // Files that are known by content or size are the same wherever a copy of them lies.
  const bool anywhere = std::all_of(files_.begin(), files_.end(), [](const files::FileInfo& file) {
    return file.identity.kind != files::IdentityKind::kTime;
  });
  nlohmann::json out = {{"kind", kind}, {"files", uris_}};
  if (anywhere) out["names"] = NamesBelowFolder(uris_);
  nlohmann::json& sizes = out["bytes"] = nlohmann::json::array();
  for (const files::FileInfo& file : files_) {
    sizes.push_back(file.size);
    if (file.identity.kind == files::IdentityKind::kTime) {
      // A tag says it all: a copy of the same bytes may have another time.
      out["mtimes"].push_back(file.identity.tag.empty() ? file.identity.mtime_ns : 0);
      if (!file.identity.tag.empty()) out["tags"].push_back(file.identity.tag);
    }
    if (file.identity.kind == files::IdentityKind::kContent)
      out["hashes"].push_back(file.identity.tag);
  }
  return out;
}

}  // namespace easydata::source
