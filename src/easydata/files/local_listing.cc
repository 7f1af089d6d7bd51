#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "easydata/files/brace_pattern.h"
#include "easydata/files/local_file_system.h"
#include "easydata/files/name_pattern.h"
#include "easydata/files/path_pattern.h"

namespace easydata::files {
namespace {

namespace fs = std::filesystem;

/// The paths that a folder or a pattern stands for, without those that the filter refuses.
struct Found {
  ListedBy by;
  const NameFilter& is_wanted;
  std::set<std::string> paths;
};

/// Lists a folder; nothing where there is no such folder.
Status Entries(const fs::path& folder, std::vector<fs::directory_entry>* out) {
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? fs::path(".") : folder, error), end;
       !error && entry != end; entry.increment(error)) {
    out->push_back(*entry);
  }
  if (error && error.value() != ENOENT && error.value() != ENOTDIR) {
    return arrow::internal::IOErrorFromErrno(error.value(), "cannot list the folder ",
                                             folder.string());
  }
  return Status::OK();
}

/// Collects the files below a folder that a pattern has; each folder is looked into once, whatever
/// the pattern. `depth` counts the folders that were found, and not named.
Status Glob(const fs::path& folder, const PathPattern& pattern, const PathPattern::States& states,
            int depth, Found* out) {
  if (depth > 256) return Status::Invalid("folders are nested too deep below ", folder.string());
  const auto is_name = [&](size_t index) { return !IsPattern(pattern.part(index)); };
  std::error_code error;
  if (std::all_of(states.begin(), states.end(), is_name)) {
    // It may be that the folder can be entered and not listed.
    for (const size_t index : states) {
      const std::string& name = pattern.part(index);
      const fs::path path = folder / name;
      if (!pattern.is_last(index)) {
        ARROW_RETURN_NOT_OK(Glob(path, pattern, pattern.Enter({index}, name), depth, out));
        continue;
      }
      const fs::directory_entry entry(path, error);
      if (!error && entry.exists(error) && !entry.is_directory(error))
        out->paths.insert(path.string());
    }
    return Status::OK();
  }
  const auto wants = [&](std::string_view name) { return out->is_wanted(out->by, name); };
  std::vector<fs::directory_entry> entries;
  ARROW_RETURN_NOT_OK(Entries(folder, &entries));
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    const bool is_folder = entry.is_directory(error);
    const bool is_link = is_folder && entry.is_symlink(error);
    if (is_folder) {
      const PathPattern::States below = pattern.Enter(states, name, is_link);
      if (!below.empty()) {
        ARROW_RETURN_NOT_OK(Glob(folder / name, pattern, below, depth + 1, out));
      }
    }
    // A link that `**` does not follow is told of, and not left out.
    const bool is_file = is_folder ? is_link && pattern.IsAtAnyFile(states) && wants(name)
                                   : pattern.MatchesFile(states, name, wants);
    if (is_file) out->paths.insert((folder / name).string());
  }
  return Status::OK();
}

/// The nearest folder above a pattern or path that exists.
fs::path FolderLookedIn(const std::string& pattern) {
  fs::path folder;
  for (const fs::path& part : fs::path(pattern)) {
    std::error_code error;
    if (IsPattern(part.string()) || !fs::is_directory(folder / part, error)) break;
    folder /= part;
  }
  return folder.empty() ? fs::path(".") : folder;
}

}  // namespace

Result<Listing> LocalFileSystem::List(const std::string& item, const NameFilter& is_wanted) const {
  std::error_code error;
  Listing listing;
  const fs::file_status status = fs::status(item, error);
  if (!fs::exists(status) && HasBraces(item)) {
    ARROW_ASSIGN_OR_RAISE(const std::vector<std::string> names, ExpandBraces(item));
    return ListEach(names, is_wanted);
  }
  if (fs::is_directory(status)) {
    listing.by = ListedBy::kFolder;
  } else if (!fs::exists(status) && IsPattern(item)) {
    listing.by = ListedBy::kPattern;
  }
  Found found{listing.by, is_wanted, {}};
  if (listing.by == ListedBy::kFolder) {
    fs::path folder = fs::path(item).lexically_normal();
    if (!folder.has_filename() && folder.has_parent_path()) folder = folder.parent_path();
    const PathPattern all("**");
    ARROW_RETURN_NOT_OK(Glob(folder == "." ? fs::path() : folder, all, all.Start(), 0, &found));
  } else if (listing.by == ListedBy::kPattern) {
    const fs::path path = fs::path(item).lexically_normal();
    const PathPattern pattern(path.relative_path().string());
    ARROW_RETURN_NOT_OK(Glob(path.root_path(), pattern, pattern.Start(), 0, &found));
  } else if (fs::exists(status)) {
    found.paths.insert(fs::path(item).lexically_normal().string());
  }
  for (const std::string& path : found.paths) {
    auto info = Stat(path);
    ListedFile file;
    file.problem = info.status();
    file.info.uri = path;
    if (info.ok()) file.info = std::move(*info);
    CheckName(&file);
    listing.files.push_back(std::move(file));
  }
  return listing;
}

Status LocalFileSystem::NothingFound(const std::string& pattern) const {
  const fs::path folder = FolderLookedIn(pattern);
  std::vector<fs::directory_entry> entries;
  ARROW_RETURN_NOT_OK(Entries(folder, &entries));
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::error_code error;
  std::string wanted;  // of a folder that is there nothing is near
  if (!fs::is_directory(pattern, error)) {
    wanted = fs::path(pattern).lexically_relative(folder).begin()->string();
  }
  return NoMatch(pattern, wanted, fs::absolute(folder).string(), names, ", which is empty");
}

bool LocalFileSystem::Exists(const std::string& path) const {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace easydata::files
