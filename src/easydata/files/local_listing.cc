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

namespace easydata::files {
namespace {

namespace fs = std::filesystem;

/// The paths that a folder or a pattern stands for, without those that the filter refuses.
struct Found {
  ListedBy by;
  const NameFilter& is_wanted;
  std::set<std::string> paths;

  bool Wants(const std::string& name) const { return is_wanted(by, name); }
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

/// Whether a name may stand for a part of a pattern: hidden folders only where they are spelled
/// out.
bool MayEnter(const std::string& name, std::string_view part) {
  return name[0] != '.' || (!part.empty() && part[0] == '.');
}

Status Glob(const fs::path& folder, const std::vector<std::string>& parts, size_t i, int depth,
            Found* out) {
  if (depth > 256) return Status::Invalid("folders are nested too deep below ", folder.string());
  const std::string& part = parts[i];
  const bool last = i + 1 == parts.size();
  std::error_code error;
  if (part == "**") {
    if (!last) ARROW_RETURN_NOT_OK(Glob(folder, parts, i + 1, depth, out));
    std::vector<fs::directory_entry> entries;
    ARROW_RETURN_NOT_OK(Entries(folder, &entries));
    for (const auto& entry : entries) {
      const std::string name = entry.path().filename().string();
      // Links are not followed: they may lead round in circles.
      if (entry.is_directory(error) && !entry.is_symlink(error)) {
        if (MayEnter(name, "")) {
          ARROW_RETURN_NOT_OK(Glob(folder / name, parts, i, depth + 1, out));
        }
      } else if (last && out->Wants(name)) {
        out->paths.insert((folder / name).string());
      }
    }
    return Status::OK();
  }
  if (!IsPattern(part)) {
    const fs::path path = folder / part;
    if (!last) return Glob(path, parts, i + 1, depth, out);
    const fs::directory_entry entry(path, error);
    if (!error && entry.exists(error) && !entry.is_directory(error))
      out->paths.insert(path.string());
    return Status::OK();
  }
  std::vector<fs::directory_entry> entries;
  ARROW_RETURN_NOT_OK(Entries(folder, &entries));
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (!MayEnter(name, part) || !MatchesName(part, name)) continue;
    if (last) {
      if (out->Wants(name) && !entry.is_directory(error))
        out->paths.insert((folder / name).string());
    } else if (entry.is_directory(error)) {
      ARROW_RETURN_NOT_OK(Glob(folder / name, parts, i + 1, depth + 1, out));
    }
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
    ARROW_RETURN_NOT_OK(Glob(folder == "." ? fs::path() : folder, {"**"}, 0, 0, &found));
  } else if (listing.by == ListedBy::kPattern) {
    const fs::path pattern = fs::path(item).lexically_normal();
    std::vector<std::string> parts;
    for (const fs::path& part : pattern.relative_path()) parts.push_back(part.string());
    ARROW_RETURN_NOT_OK(Glob(pattern.root_path(), parts, 0, 0, &found));
  } else if (fs::exists(status)) {
    found.paths.insert(fs::path(item).lexically_normal().string());
  }
  for (const std::string& path : found.paths) {
    auto info = Stat(path);
    ListedFile file;
    file.problem = info.status();
    file.info.uri = path;
    if (info.ok()) file.info = std::move(*info);
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
