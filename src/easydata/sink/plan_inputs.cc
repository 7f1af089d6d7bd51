#include "easydata/sink/plan_inputs.h"

#include <filesystem>
#include <map>
#include <system_error>

namespace easydata::sink {
namespace {

namespace fs = std::filesystem;

/// The path without links, as far as it exists.
fs::path Resolved(const fs::path& path) {
  std::error_code error;
  fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : resolved;
}

bool IsBelow(const fs::path& path, const fs::path& folder) {
  auto at = path.begin();
  for (const fs::path& part : folder) {
    if (part.empty()) continue;  // after a slash at the end
    if (at == path.end() || *at != part) return false;
    ++at;
  }
  return true;
}

bool IsUri(const std::string& path) { return path.find("://") != std::string::npos; }

std::string WithSlash(std::string folder) {
  if (!folder.ends_with('/')) folder += '/';
  return folder;
}

}  // namespace

Status CheckInputsOutside(const StreamPlan& plan, const std::string& folder) {
  const bool is_remote = IsUri(folder);
  const fs::path output = is_remote ? fs::path() : Resolved(folder);
  std::map<fs::path, fs::path> folders;  // many files of few folders
  const auto is_inside = [&](const std::string& file) {
    // Keys of a store lead nowhere else, and nothing of this machine lies there.
    if (is_remote || IsUri(file)) return file.starts_with(WithSlash(folder));
    const fs::path path(file);
    auto [entry, is_new] = folders.try_emplace(path.parent_path());
    if (is_new) {
      entry->second = Resolved(path.has_parent_path() ? path.parent_path() : fs::path("."));
    }
    std::error_code error;
    const bool leads_there = fs::is_symlink(path, error) && IsBelow(Resolved(path), output);
    return leads_there || IsBelow(entry->second, output);
  };
  Status found;
  VisitNodes(*plan.node, [&](const PlanNode& node) {
    if (node.files == nullptr || !found.ok()) return;
    for (const std::string& file : *node.files) {
      if (!is_inside(file)) continue;
      found = Status::Invalid("the file ", file, ", which is read, lies in the output folder ",
                              folder, "; write to another folder");
      return;
    }
  });
  return found;
}

}  // namespace easydata::sink
