#include "easydata/source/file_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

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

constexpr std::string_view kHub = "hf://";
constexpr size_t kCommitDigits = 40;

/// Where the commit begins in the name of a file on the Hub, behind "@"; npos: it has none.
size_t FindCommit(const std::string& uri) {
  if (!uri.starts_with(kHub)) return std::string::npos;
  const size_t at = uri.find('@');
  if (at == std::string::npos || uri.find('/', at) != at + 1 + kCommitDigits) {
    return std::string::npos;
  }
  return at + 1;
}

/// Whether a file is known by what is in it: a copy elsewhere is the same.
bool IsKnownByContent(const files::FileInfo& file) {
  if (file.identity.kind != files::IdentityKind::kTime) return true;
  return FindCommit(file.uri) != std::string::npos && !file.identity.tag.empty();
}

/// The commits at which files on the Hub are read: "hf://datasets/org/name@commit".
std::set<std::string> RevisionsOf(const std::vector<std::string>& uris) {
  std::set<std::string> revisions;
  for (const std::string& uri : uris) {
    const size_t commit = FindCommit(uri);
    if (commit != std::string::npos) revisions.insert(uri.substr(0, commit + kCommitDigits));
  }
  return revisions;
}

}  // namespace

std::vector<std::string> FileList::NamesBelowFolder(std::vector<std::string> uris) {
  if (uris.empty()) return uris;
  for (std::string& uri : uris) uri = WithoutCommit(uri);
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

std::string FileList::WithoutCommit(const std::string& uri) {
  const size_t commit = FindCommit(uri);
  if (commit == std::string::npos) return uri;
  return uri.substr(0, commit - 1) + uri.substr(commit + kCommitDigits);
}

nlohmann::json FileList::Describe(const std::string& kind) const {
  // Files that are known by content or size are the same wherever a copy of them lies.
  const bool anywhere = std::all_of(files_.begin(), files_.end(), IsKnownByContent);
  nlohmann::json out = {{"kind", kind}, {"files", uris_}};
  if (anywhere) out["names"] = NamesBelowFolder(uris_);
  if (const auto revisions = RevisionsOf(uris_); !revisions.empty()) out["revisions"] = revisions;
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
