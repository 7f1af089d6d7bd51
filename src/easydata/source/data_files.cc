#include "easydata/source/data_files.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "easydata/files/address.h"
#include "easydata/files/brace_pattern.h"
#include "easydata/files/file_system.h"
#include "easydata/files/local_path.h"
#include "easydata/source/data_format.h"

namespace easydata::source {
namespace {

bool IsData(std::string_view name) {
  return !name.empty() && name[0] != '_' && name[0] != '.' && name != "metadata.json";
}

std::string NameOf(std::string_view uri) { return std::string(uri.substr(uri.rfind('/') + 1)); }

/// Whether model folders and saved data sets have a file of this name beside their shards.
bool IsBesideShards(const std::string& name) {
  constexpr std::array<std::string_view, 6> kNames = {
      "config.json",       "dataset_info.json",       "state.json",
      "dataset_dict.json", "special_tokens_map.json", "README.md"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         (name.starts_with("tokenizer") && name.ends_with(".json"));
}

/// Whether `datasets` put a result of map() or filter() there, beside the shards of a saved data
/// set.
bool IsCached(const files::FileSystem& files, const std::string& uri) {
  const std::string name = NameOf(uri);
  if (!name.starts_with("cache-") || !name.ends_with(".arrow")) return false;
  const std::string folder = uri.substr(0, uri.size() - name.size());
  return files.Exists(folder + "state.json") && files.Exists(folder + "dataset_info.json");
}

/// Whether a name is that of tokens, or of what else may lie beside data: weights, arrays.
bool IsOfTokens(const std::string& uri) {
  const std::string format = FormatOfName(uri);
  return format == "bin" || format == "npy";
}

/// Removes files that are not data from those found.
void LeaveOut(const files::FileSystem& files, std::vector<files::ListedFile>* found,
              std::vector<std::string>* left_out) {
  const bool has_shards =
      std::any_of(found->begin(), found->end(), [](const files::ListedFile& file) {
        const std::string format = FormatOfName(file.info.uri);
        return !format.empty() && format != "json" && !IsBesideShards(NameOf(file.info.uri));
      });
  // Weights and arrays lie beside data, too; a folder of tokens has nothing else.
  const bool has_others = std::any_of(found->begin(), found->end(), [](const auto& file) {
    const std::string& uri = file.info.uri;
    return !FormatOfName(uri).empty() && !IsOfTokens(uri) && !IsBesideShards(NameOf(uri));
  });
  // Beside shards of JSON, only files without a format are known not to be data.
  size_t left = found->size();
  std::erase_if(*found, [&](const files::ListedFile& file) {
    const std::string& uri = file.info.uri;
    const bool is_beside =
        IsBesideShards(NameOf(uri)) && (has_shards || (FormatOfName(uri).empty() && left > 1));
    const bool is_other = has_others && IsOfTokens(uri);
    if (!is_beside && !is_other && !IsCached(files, uri)) return false;
    left_out->push_back(uri);
    --left;
    return true;
  });
}

bool IsWanted(files::ListedBy by, std::string_view name) {
  return IsData(name) && (by != files::ListedBy::kFolder || !FormatOfName(name).empty());
}

/// Refuses the folder of a saved DatasetDict, whose splits are not one data set.
Status CheckSplits(const std::string& folder, const files::Listing& listing) {
  const std::string begin = folder.ends_with('/') ? folder : folder + "/";
  const auto is_description = [&](const files::ListedFile& file) {
    return file.info.uri == begin + "dataset_dict.json";
  };
  if (std::none_of(listing.files.begin(), listing.files.end(), is_description)) {
    return Status::OK();
  }
  std::set<std::string> splits;  // folders of data sets
  for (const files::ListedFile& file : listing.files) {
    std::string_view uri = file.info.uri;
    if (NameOf(uri) != "state.json") continue;
    uri.remove_suffix(std::string_view("/state.json").size());
    splits.insert(NameOf(uri));
  }
  if (splits.empty()) return Status::OK();
  std::string known;
  for (const std::string& split : splits) known += (known.empty() ? "" : ", ") + split;
  return Status::Invalid(folder, " is a DatasetDict that was saved to disk, with the splits ",
                         known, "; name the folder of one: ", begin, *splits.begin());
}

/// Removes files of this machine that two items name in their own ways: a relative and an absolute
/// path, or a link. The name that was found first stays. Links beside a file are files of their
/// own.
void LeaveOutTwins(const std::map<std::string, size_t>& items,
                   std::map<std::string, files::FileInfo>* found) {
  // Only what is alike is looked at: that costs calls.
  std::map<std::pair<int64_t, int64_t>, std::vector<std::string>> alike;
  for (const auto& [uri, info] : *found) {
    if (uri.find("://") != std::string::npos) continue;
    alike[{info.size, info.identity.mtime_ns}].push_back(uri);
  }
  for (auto& [_, uris] : alike) {
    if (uris.size() < 2) continue;
    std::stable_sort(uris.begin(), uris.end(),
                     [&](const auto& a, const auto& b) { return items.at(a) < items.at(b); });
    std::map<std::string, size_t> real;  // the items that have a file first
    for (const std::string& uri : uris) {
      const std::string path = files::RealPath(uri);
      if (path.empty()) continue;
      const auto [first, is_new] = real.emplace(path, items.at(uri));
      if (!is_new && first->second != items.at(uri)) found->erase(uri);
    }
  }
}

constexpr std::string_view kTokensSuffix = ".bin", kIndexSuffix = ".idx";

/// The name of the file beside one that ends in `from`; "" where it does not.
std::string Beside(const std::string& uri, std::string_view from, std::string_view to) {
  if (!uri.ends_with(from)) return "";
  return uri.substr(0, uri.size() - from.size()) + std::string(to);
}

/// The file of that name, of those found or as it is now; nothing where there is none.
Result<std::optional<files::FileInfo>> FindFile(const std::map<std::string, files::FileInfo>& found,
                                                const std::string& uri,
                                                const storage::Storage& storage) {
  if (const auto known = found.find(uri); known != found.end()) return known->second;
  ARROW_ASSIGN_OR_RAISE(const files::FileSystem* files, storage.FileSystemOf(uri));
  if (!files->Exists(uri)) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(files::FileInfo info, files->Stat(uri));
  return info;
}

/// Gives files of tokens the indexes that lie beside them; an index by itself stands for its
/// tokens. `of_folders`: files of folders that were listed, with all that lies beside them.
Status PairIndexes(const std::shared_ptr<const storage::Storage>& storage,
                   const std::set<std::string>& of_folders, std::map<std::string, size_t>* items,
                   std::map<std::string, files::FileInfo>* found,
                   std::vector<std::string>* left_out) {
  std::vector<std::string> indexes, tokens;
  for (const auto& [uri, info] : *found) {
    if (uri.ends_with(kIndexSuffix)) indexes.push_back(uri);
  }
  for (const std::string& index : indexes) {
    const std::string of_tokens = Beside(index, kIndexSuffix, kTokensSuffix);
    ARROW_ASSIGN_OR_RAISE(auto file, FindFile(*found, of_tokens, *storage));
    if (!file.has_value() && found->size() > 1) {
      // Other programs have indexes, too.
      left_out->push_back(index);
      found->erase(index);
      continue;
    }
    if (!file.has_value()) {
      return Status::Invalid(index,
                             " is an index of tokens, which it stands for, and they are not "
                             "there: ",
                             of_tokens);
    }
    items->try_emplace(of_tokens, items->at(index));
    found->try_emplace(of_tokens, *std::move(file));
  }
  for (auto& [uri, info] : *found) {
    const std::string index = Beside(uri, kTokensSuffix, kIndexSuffix);
    if (index.empty() || (of_folders.contains(uri) && !found->contains(index))) continue;
    ARROW_ASSIGN_OR_RAISE(auto file, FindFile(*found, index, *storage));
    if (!file.has_value()) continue;
    file->storage = storage;
    info.index = std::make_shared<const files::FileInfo>(*std::move(file));
  }
  for (const std::string& index : indexes) found->erase(index);
  return Status::OK();
}

/// Whether a problem of a file may be gone when its turn comes, or tells that it is lost.
bool MayBeMissing(const Status& problem) {
  return files::IsFileError(problem) && arrow::internal::ErrnoFromStatus(problem) != EILSEQ;
}

/// Lists names one by one; those that are not there have that as their problem.
Result<std::vector<files::Listing>> ListEachName(const files::FileSystem& files,
                                                 const std::vector<std::string>& names) {
  std::vector<files::Listing> out;
  for (const std::string& name : names) {
    auto listing = files.List(name, IsWanted);
    if (!listing.ok()) {
      // Of several names in one it is not known which is missing.
      if (!MayBeMissing(listing.status()) || files::HasBraces(name)) return listing.status();
      files::ListedFile missing;
      missing.info.uri = name;
      missing.problem = listing.status();
      listing = files::Listing();
      listing->files.push_back(std::move(missing));
    }
    out.push_back(std::move(*listing));
  }
  return out;
}

Status CheckItem(const std::string& item) {
  if (item.empty()) return Status::Invalid("data_files holds an empty path; name a file");
  if (item.find('\0') == std::string::npos) return Status::OK();
  return Status::Invalid("data_files holds a path with a NUL character; it begins with ",
                         item.c_str());
}

/// Whether a name has the form of a repository's on the Hugging Face Hub: "org/name".
bool IsLikeHubName(std::string_view name) {
  const auto is_part = [](std::string_view part) {
    return !part.empty() && part.front() != '.' && part.front() != '~' &&
           part.find_first_of("/*?[]{}\\: ") == std::string_view::npos;
  };
  const size_t slash = name.find('/');
  return slash != std::string_view::npos && is_part(name.substr(0, slash)) &&
         is_part(name.substr(slash + 1)) && FormatOfName(name).empty();
}

/// Adds, where a name may be meant for the Hub, how that is said.
Status WithHubHint(const std::vector<std::string>& given, const Status& nothing) {
  if (given.size() != 1 || !IsLikeHubName(given[0])) return nothing;
  return nothing.WithMessage(nothing.message(),
                             "; a dataset of the Hugging Face Hub is read by type=\"hf\", or as "
                             "hf://datasets/",
                             given[0], ", or comes here by: hf download --repo-type dataset ",
                             given[0], " --local-dir ", given[0]);
}

}  // namespace

Result<DataFiles> ListDataFiles(const std::vector<std::string>& data_files,
                                std::shared_ptr<const storage::Storage> storage,
                                bool keeps_missing) {
  if (data_files.empty()) return Status::Invalid("data_files is an empty list; name a file");
  std::map<std::string, files::FileInfo> found;
  DataFiles out;
  std::vector<files::Address> addresses;
  for (const std::string& item : data_files) {
    ARROW_RETURN_NOT_OK(CheckItem(item));
    ARROW_ASSIGN_OR_RAISE(addresses.emplace_back(), files::Address::Parse(item));
    // Those that are shown alike have other names when all are known.
    ARROW_RETURN_NOT_OK(storage->NamesOf(addresses.back()).status());
  }
  std::map<std::string, size_t> items;  // which of data_files has found a file first
  std::map<std::string, Status> missing;
  std::set<std::string> of_folders;
  for (size_t item = 0; item < addresses.size(); ++item) {
    const files::Address& address = addresses[item];
    ARROW_ASSIGN_OR_RAISE(const auto names, storage->NamesOf(address));
    ARROW_ASSIGN_OR_RAISE(const files::FileSystem* files, storage->FileSystemOf(address.given()));
    auto listed = files->ListNames(names, IsWanted);
    if (keeps_missing && MayBeMissing(listed.status())) listed = ListEachName(*files, names);
    ARROW_ASSIGN_OR_RAISE(std::vector<files::Listing> listings, std::move(listed));
    for (size_t i = 0; i < listings.size(); ++i) {
      files::Listing& listing = listings[i];
      if (listing.by == files::ListedBy::kFolder) {
        ARROW_RETURN_NOT_OK(CheckSplits(names[i], listing));
      }
      if (listing.by != files::ListedBy::kName) LeaveOut(*files, &listing.files, &out.left_out);
      if (listing.files.empty()) {
        const Status nothing = WithHubHint(data_files, files->NothingFound(names[i]));
        if (listing.by != files::ListedBy::kName) return nothing;
        files::ListedFile named;
        named.info.uri = names[i];
        named.problem = nothing;
        listing.files.push_back(std::move(named));
      }
      for (const files::ListedFile& file : listing.files) {
        if (!file.problem.ok()) {
          if (!keeps_missing || !MayBeMissing(file.problem)) return file.problem;
          missing.try_emplace(file.info.uri, file.problem);
        }
        if (listing.by == files::ListedBy::kFolder) of_folders.insert(file.info.uri);
        found.try_emplace(file.info.uri, file.info);
        items.try_emplace(file.info.uri, item);
      }
    }
  }
  if (!missing.empty() && missing.size() == found.size()) return missing.begin()->second;
  ARROW_RETURN_NOT_OK(PairIndexes(storage, of_folders, &items, &found, &out.left_out));
  LeaveOutTwins(items, &found);
  for (auto& [uri, info] : found) {
    info.storage = storage;
    out.files.push_back(std::move(info));
  }
  // What one pattern leaves out, another may have, or name.
  std::erase_if(out.left_out, [&](const std::string& uri) { return found.contains(uri); });
  return out;
}

}  // namespace easydata::source
