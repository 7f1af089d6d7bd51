#include "easydata/io/expand_files.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "easydata/base/nearest_name.h"
#include "easydata/io/compression.h"
#include "easydata/io/local_file.h"

namespace easydata {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kFormats{{
    {".parquet", "parquet"},
    {".pq", "parquet"},
    {".jsonl", "jsonl"},
    {".ndjson", "jsonl"},
    {".json", "json"},
    {".arrow", "arrow"},
    {".ipc", "arrow"},
    {".feather", "arrow"},
    {".csv", "csv"},
    {".tsv", "tsv"},
    {".txt", "txt"},
    {".text", "txt"},
}};

bool IsPattern(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool IsData(const std::string& name) {
  return !name.empty() && name[0] != '_' && name[0] != '.' && name != "metadata.json";
}

/// What a pattern or a folder stands for.
struct Found {
  std::set<std::string> files;
  std::set<std::string> odd;  // those that are no regular files

  void Add(const fs::path& path, const fs::directory_entry& entry) {
    std::error_code error;
    files.insert(path.string());
    // A link that leads nowhere is for whoever opens it to say.
    if (!entry.is_regular_file(error) && entry.exists(error)) odd.insert(path.string());
  }
};

std::string NameOf(const std::string& path) { return fs::path(path).filename().string(); }

/// Whether a name is one that model folders and saved data sets have beside their shards.
bool IsBesideShards(const std::string& name) {
  constexpr std::array<std::string_view, 6> kNames = {
      "config.json",       "dataset_info.json",       "state.json",
      "dataset_dict.json", "special_tokens_map.json", "README.md"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         (name.starts_with("tokenizer") && name.ends_with(".json"));
}

/// Whether `datasets` put a result of map() or filter() there, beside the shards of a saved data
/// set.
bool IsCached(const fs::path& path) {
  std::error_code error;
  const std::string name = path.filename().string();
  return name.starts_with("cache-") && name.ends_with(".arrow") &&
         fs::exists(path.parent_path() / "state.json", error) &&
         fs::exists(path.parent_path() / "dataset_info.json", error);
}

/// Takes what is no data out of what was found.
void LeaveOut(Found* found, std::vector<std::string>* left_out) {
  const bool has_shards =
      std::any_of(found->files.begin(), found->files.end(), [](const std::string& path) {
        const std::string format = FormatOfName(path);
        return !format.empty() && format != "json" && !IsBesideShards(NameOf(path));
      });
  for (auto path = found->files.begin(); path != found->files.end();) {
    const std::string name = NameOf(*path);
    // Beside shards of JSON, only what is none of a format is known to be no data.
    const bool is_beside = IsBesideShards(name) &&
                           (has_shards || (FormatOfName(name).empty() && found->files.size() > 1));
    if (!is_beside && !IsCached(*path)) {
      ++path;
      continue;
    }
    left_out->push_back(*path);
    found->odd.erase(*path);
    path = found->files.erase(path);
  }
}

/// Matches one name against one part of a pattern.
bool Matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    size_t next = p;
    bool matched = false;
    if (p < pattern.size()) {
      if (pattern[p] == '*') {
        star = p++;
        from = n;
        continue;
      }
      if (pattern[p] == '?') {
        matched = true;
        next = p + 1;
      } else if (const size_t close =
                     pattern[p] == '[' ? pattern.find(']', p + 2) : std::string_view::npos;
                 close != std::string_view::npos) {
        std::string_view set = pattern.substr(p + 1, close - p - 1);
        const bool inverted = set[0] == '!';
        if (inverted) set.remove_prefix(1);
        for (size_t k = 0; k < set.size(); ++k) {
          if (k + 2 < set.size() && set[k + 1] == '-') {
            matched |= set[k] <= name[n] && name[n] <= set[k + 2];
            k += 2;
          } else {
            matched |= set[k] == name[n];
          }
        }
        matched = matched != inverted;
        next = close + 1;
      } else {
        matched = pattern[p] == name[n];
        next = p + 1;
      }
    }
    if (matched) {
      p = next;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// What a folder holds; nothing where there is no such folder.
Status List(const fs::path& folder, std::vector<fs::directory_entry>* out) {
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
    ARROW_RETURN_NOT_OK(List(folder, &entries));
    for (const auto& entry : entries) {
      const std::string name = entry.path().filename().string();
      // Links are not followed: they may lead round in circles.
      if (entry.is_directory(error) && !entry.is_symlink(error)) {
        if (MayEnter(name, "")) {
          ARROW_RETURN_NOT_OK(Glob(folder / name, parts, i, depth + 1, out));
        }
      } else if (last && IsData(name)) {
        out->Add(folder / name, entry);
      }
    }
    return Status::OK();
  }
  if (!IsPattern(part)) {
    const fs::path path = folder / part;
    if (!last) return Glob(path, parts, i + 1, depth, out);
    const fs::directory_entry entry(path, error);
    if (!error && entry.exists(error) && !entry.is_directory(error)) out->Add(path, entry);
    return Status::OK();
  }
  std::vector<fs::directory_entry> entries;
  ARROW_RETURN_NOT_OK(List(folder, &entries));
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (!MayEnter(name, part) || !Matches(part, name)) continue;
    if (last) {
      if (IsData(name) && !entry.is_directory(error)) out->Add(folder / name, entry);
    } else if (entry.is_directory(error)) {
      ARROW_RETURN_NOT_OK(Glob(folder / name, parts, i + 1, depth + 1, out));
    }
  }
  return Status::OK();
}

Status Walk(const fs::path& folder, Found* out) {
  ARROW_RETURN_NOT_OK(Glob(folder, {"**"}, 0, 0, out));
  const auto is_of_no_format = [](const std::string& path) { return FormatOfName(path).empty(); };
  std::erase_if(out->files, is_of_no_format);
  std::erase_if(out->odd, is_of_no_format);
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

Status NothingFound(const std::string& pattern) {
  const fs::path folder = FolderLookedIn(pattern);
  std::vector<fs::directory_entry> entries;
  ARROW_RETURN_NOT_OK(List(folder, &entries));
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::error_code error;
  std::string hint;
  if (!fs::is_directory(pattern, error)) {
    const std::string wanted = fs::path(pattern).lexically_relative(folder).begin()->string();
    hint = DidYouMean(wanted, names);
  }
  std::string held;
  for (size_t i = 0; i < names.size() && i < 8; ++i) held += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > 8) held += ", ...";
  return arrow::internal::IOErrorFromErrno(
      ENOENT, "no data files match ", pattern, hint.empty() ? "; looked in " : hint + " Looked in ",
      fs::absolute(folder).string(), names.empty() ? ", which is empty" : ", which holds: " + held);
}

}  // namespace

std::string FormatOfName(std::string_view path) {
  const std::string name = UncompressedName(path);
  for (const auto& [suffix, format] : kFormats) {
    if (name.ends_with(suffix)) return std::string(format);
  }
  return "";
}

Result<ExpandedFiles> ExpandDataFiles(const std::vector<std::string>& data_files) {
  std::set<std::string> out;
  ExpandedFiles expanded;
  if (data_files.empty()) return Status::Invalid("data_files is an empty list; name a file");
  for (const std::string& item : data_files) {
    if (item.empty()) return Status::Invalid("data_files holds an empty path; name a file");
    if (item.find('\0') != std::string::npos) {
      return Status::Invalid("data_files holds a path with a NUL character; it begins with ",
                             item.c_str());
    }
    if (const size_t scheme = item.find("://"); scheme != std::string::npos) {
      return Status::NotImplemented(item, ": reading over ", item.substr(0, scheme),
                                    ":// comes with a later release of EasyData; copy the files to "
                                    "this machine");
    }
    std::error_code error;
    // A name with brackets may be a file's own.
    if (fs::is_regular_file(item, error)) {
      out.insert(fs::path(item).lexically_normal().string());
      continue;
    }
    Found found;
    if (fs::is_directory(item, error)) {
      fs::path folder = fs::path(item).lexically_normal();
      if (!folder.has_filename() && folder.has_parent_path()) folder = folder.parent_path();
      ARROW_RETURN_NOT_OK(Walk(folder == "." ? fs::path() : folder, &found));
    } else if (fs::exists(item, error)) {
      return LookAtFile(item).status();  // which says what it is
    } else if (IsPattern(item)) {
      const fs::path pattern = fs::path(item).lexically_normal();
      std::vector<std::string> parts;
      for (const fs::path& part : pattern.relative_path()) parts.push_back(part.string());
      ARROW_RETURN_NOT_OK(Glob(pattern.root_path(), parts, 0, 0, &found));
    }
    LeaveOut(&found, &expanded.left_out);
    for (const std::string& path : found.odd) ARROW_RETURN_NOT_OK(LookAtFile(path).status());
    if (found.files.empty()) return NothingFound(item);
    out.insert(found.files.begin(), found.files.end());
  }
  expanded.files.assign(out.begin(), out.end());
  // What one pattern leaves out, another may have, or name.
  std::erase_if(expanded.left_out, [&](const std::string& path) { return out.contains(path); });
  return expanded;
}

}  // namespace easydata
