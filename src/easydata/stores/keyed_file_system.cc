#include "easydata/stores/keyed_file_system.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "easydata/files/brace_pattern.h"
#include "easydata/files/name_pattern.h"
#include "easydata/files/path_pattern.h"

namespace easydata::stores {
namespace {

/// What all names of a pattern begin with.
std::string PrefixOf(const std::string& key) { return key.substr(0, key.find_first_of("*?[{")); }

/// Whether a name looks like a file's: its last part has a suffix.
bool HasSuffix(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < name.size();
}

bool IsMissing(const Status& status) {
  const int error = arrow::internal::ErrnoFromStatus(status);
  return error == ENOENT || error == EISDIR;
}

}  // namespace

void KeyedFileSystem::Add(files::FileInfo object, files::Listing* listing) {
  // Folders that someone made by hand.
  if (object.uri.ends_with('/')) return;
  files::ListedFile file;
  file.info = std::move(object);
  CheckName(&file);
  listing->files.push_back(std::move(file));
}

files::Listing KeyedFileSystem::SingleFile(files::FileInfo object) {
  files::Listing listing;
  Add(std::move(object), &listing);
  return listing;
}

Result<files::Listing> KeyedFileSystem::List(const std::string& given,
                                             const files::NameFilter& is_wanted) const {
  ARROW_ASSIGN_OR_RAISE(const RootAndKey path, Split(given));
  if (files::HasBraces(path.key)) return ListBraces(path, is_wanted);
  if (files::IsPattern(path.key)) return ListPattern(path, is_wanted);
  const std::string uri = path.root + path.key;
  files::Listing listing;
  if (HasSuffix(path.key)) {
    auto info = Stat(uri);
    if (info.ok()) return SingleFile(std::move(*info));
    if (!IsMissing(info.status())) return info.status();
  }
  ARROW_ASSIGN_OR_RAISE(listing, ListFolder(path, is_wanted));
  if (!listing.files.empty() || path.key.empty() || HasSuffix(path.key)) return listing;
  auto info = Stat(uri);
  if (IsMissing(info.status())) return listing;
  ARROW_RETURN_NOT_OK(info.status());
  return SingleFile(std::move(*info));
}

Result<files::Listing> KeyedFileSystem::ListFolder(const RootAndKey& path,
                                                   const files::NameFilter& is_wanted) const {
  RootAndKey folder = path;
  if (!folder.key.empty() && !folder.key.ends_with('/')) folder.key += '/';
  ARROW_ASSIGN_OR_RAISE(ObjectPage found, ListAll(folder, false));
  const size_t above = folder.root.size() + folder.key.size();
  const files::PathPattern all("**");
  const auto wants = [&](std::string_view name) {
    return is_wanted(files::ListedBy::kFolder, name);
  };
  files::Listing listing;
  listing.by = files::ListedBy::kFolder;
  for (files::FileInfo& object : found.objects) {
    const std::string_view below = std::string_view(object.uri).substr(above);
    if (all.Matches(below, wants)) Add(std::move(object), &listing);
  }
  return listing;
}

Result<files::Listing> KeyedFileSystem::ListPattern(const RootAndKey& path,
                                                    const files::NameFilter& is_wanted) const {
  const std::string prefix = PrefixOf(path.key);
  // Only the last part is a pattern: folders below need not be looked into.
  const bool by_folder = path.key.find('/', prefix.size()) == std::string::npos &&
                         path.key.find("**") == std::string::npos;
  ARROW_ASSIGN_OR_RAISE(ObjectPage found, ListAll({path.root, prefix}, by_folder));
  const files::PathPattern pattern(path.key);
  const auto wants = [&](std::string_view name) {
    return is_wanted(files::ListedBy::kPattern, name);
  };
  files::Listing listing;
  listing.by = files::ListedBy::kPattern;
  for (files::FileInfo& object : found.objects) {
    const std::string_view key = std::string_view(object.uri).substr(path.root.size());
    if (key == path.key) return SingleFile(std::move(object));
    if (pattern.Matches(key, wants)) Add(std::move(object), &listing);
  }
  return listing;
}

/// Lists each of the names that braces stand for; one that nothing is there for is a problem.
Result<files::Listing> KeyedFileSystem::ListBraces(const RootAndKey& path,
                                                   const files::NameFilter& is_wanted) const {
  const std::string uri = path.root + path.key;
  ARROW_ASSIGN_OR_RAISE(const std::vector<std::string> names, files::ExpandBraces(uri));
  const std::string prefix = PrefixOf(path.key);
  const bool by_folder = path.key.find('/', prefix.size()) == std::string::npos;
  ARROW_ASSIGN_OR_RAISE(ObjectPage page, ListAll({path.root, prefix}, by_folder));
  std::map<std::string, files::FileInfo> known;
  for (files::FileInfo& object : page.objects) {
    if (object.uri == uri) return SingleFile(std::move(object));
    known[object.uri] = std::move(object);
  }
  return ListEach(names, is_wanted, known);
}

Status KeyedFileSystem::NothingFound(const std::string& given) const {
  ARROW_ASSIGN_OR_RAISE(const RootAndKey path, Split(given));
  const std::string prefix = PrefixOf(path.key);
  const std::string folder = prefix.substr(0, prefix.rfind('/') + 1);
  ARROW_ASSIGN_OR_RAISE(const ObjectPage page, ListSome({path.root, folder}));
  std::vector<std::string> names;
  for (const std::string& each : page.folders) names.push_back(each.substr(folder.size()));
  for (const files::FileInfo& object : page.objects) {
    const std::string name = object.uri.substr(path.root.size() + folder.size());
    if (!name.empty()) names.push_back(name);
  }
  const std::string below = path.key.substr(folder.size());
  const std::string wanted = below.substr(0, below.find('/'));
  return NoMatch(given, files::IsPattern(wanted) ? "" : wanted, path.root + folder, names,
                 ", where there is nothing");
}

bool KeyedFileSystem::Exists(const std::string& uri) const {
  if (Stat(uri).ok()) return true;
  auto folder = Split(uri);
  if (!folder.ok()) return false;
  if (!folder->key.empty() && !folder->key.ends_with('/')) folder->key += '/';
  const auto page = ListSome(*folder);
  return page.ok() && (!page->objects.empty() || !page->folders.empty());
}

}  // namespace easydata::stores
