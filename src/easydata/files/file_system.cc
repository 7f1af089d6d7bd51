#include "easydata/files/file_system.h"

#include <arrow/io/interfaces.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "easydata/base/escaped_text.h"
#include "easydata/base/hash.h"
#include "easydata/base/nearest_name.h"

namespace easydata::files {
namespace {

constexpr NamedValue<IdentityKind> kIdentityKinds[] = {{"mtime", IdentityKind::kTime},
                                                       {"content", IdentityKind::kContent},
                                                       {"size", IdentityKind::kSize}};

constexpr size_t kShownName = 200;  // bytes

constexpr const char kChangedId[] = "easydata::FileChanged";

/// Marks the errors of files that changed since they were listed.
class FileChanged : public arrow::StatusDetail {
 public:
  const char* type_id() const override { return kChangedId; }
  std::string ToString() const override { return "the file was changed"; }
};

}  // namespace

std::span<const NamedValue<IdentityKind>> NamesOf(IdentityKind) { return kIdentityKinds; }

Result<std::vector<Listing>> FileSystem::ListNames(const std::vector<std::string>& names,
                                                   const NameFilter& is_wanted) const {
  std::vector<Listing> out;
  for (const std::string& name : names) {
    ARROW_ASSIGN_OR_RAISE(Listing listing, List(name, is_wanted));
    out.push_back(std::move(listing));
  }
  return out;
}

Result<Listing> FileSystem::ListEach(const std::vector<std::string>& names,
                                     const NameFilter& is_wanted,
                                     const std::map<std::string, FileInfo>& known) const {
  std::map<std::string, ListedFile> found;
  Listing listing;
  for (const std::string& name : names) {
    if (const auto one = known.find(name); one != known.end()) {
      found[name].info = one->second;
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(Listing part, List(name, is_wanted));
    if (part.by != ListedBy::kName) listing.by = ListedBy::kPattern;
    if (part.files.empty()) {
      found[name].info.uri = name;
      found[name].problem = NothingFound(name);
    }
    for (ListedFile& file : part.files) found[file.info.uri] = std::move(file);
  }
  for (auto& [_, file] : found) listing.files.push_back(std::move(file));
  return listing;
}

void FileSystem::CheckName(ListedFile* file) {
  if (IsUtf8(file->info.uri)) return;
  file->info.uri = EscapedText(file->info.uri);
  file->problem = arrow::internal::IOErrorFromErrno(
      EILSEQ, "the name of ", file->info.uri,
      " is not UTF-8, and files are known by names that are; rename it, or leave it out");
}

Status FileSystem::NoMatch(const std::string& pattern, const std::string& wanted,
                           const std::string& looked_in, const std::vector<std::string>& names,
                           const char* is_empty) {
  const std::string hint = wanted.empty() ? "" : DidYouMean(wanted, names);
  std::string held;
  for (size_t i = 0; i < names.size() && i < 8; ++i) {
    held += (i == 0 ? "" : ", ") + EscapedText(names[i], kShownName);
  }
  if (names.size() > 8) held += ", ...";
  return arrow::internal::IOErrorFromErrno(
      ENOENT, "no data files match ", pattern,
      hint.empty() ? "; looked in " : EscapedText(hint) + " Looked in ", looked_in,
      names.empty() ? is_empty : ", which holds: " + held);
}

Status FileSystem::SetIdentity(IdentityKind kind, const std::function<bool()>& stop,
                               FileInfo* file) const {
  if (file->identity.kind == kind) return Status::OK();
  std::string hash;
  if (kind == IdentityKind::kContent) {
    FileInfo listed = *file;
    listed.identity.kind = IdentityKind::kTime;  // which was known all along
    ARROW_ASSIGN_OR_RAISE(const auto opened, Open(listed));
    ARROW_ASSIGN_OR_RAISE(hash, HashOfContent(opened.get(), file->size, stop));
  }
  file->identity.kind = kind;
  file->identity.tag = std::move(hash);
  return Status::OK();
}

Result<std::string> HashOfContent(arrow::io::RandomAccessFile* file, int64_t bytes,
                                  const std::function<bool()>& stop) {
  std::vector<char> part(std::min<int64_t>(std::max<int64_t>(bytes, 1), 8 << 20));
  uint64_t hash = 0;
  for (int64_t at = 0; at < bytes;) {
    if (stop != nullptr && stop()) return Status::Cancelled("the files were being hashed");
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          file->ReadAt(at, static_cast<int64_t>(part.size()), part.data()));
    if (got == 0) break;
    hash = Hash64({part.data(), static_cast<size_t>(got)}, hash);
    at += got;
  }
  return easydata::ToHex(hash);
}

Status FileChangedError(const std::string& message) {
  return Status(arrow::StatusCode::IOError, EscapedText(message), std::make_shared<FileChanged>());
}

Status FileChangedError(const FileInfo& file, const std::string& now) {
  const std::string tag = file.identity.tag.empty() ? "" : ", tag " + file.identity.tag;
  return FileChangedError(
      file.uri + " is not the file any more that was listed: it had " + std::to_string(file.size) +
      " bytes" + tag + ", now it has " + now +
      "; put that file back and resume from the last saved state, or start anew "
      "with the files as they are");
}

Status CheckContent(const FileInfo& file, const FileInfo& now,
                    arrow::io::RandomAccessFile* opened) {
  if (now.size != file.size) return FileChangedError(file, std::to_string(now.size) + " bytes");
  const int64_t time = now.identity.mtime_ns;
  if (time != 0 && time == file.identity.mtime_ns) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const std::string hash, HashOfContent(opened, file.size, nullptr));
  if (hash != file.identity.tag) return FileChangedError(file, "other content");
  return Status::OK();
}

bool IsFileError(const Status& status) {
  if (status.ok() || status.detail() == nullptr) return false;
  return std::strcmp(status.detail()->type_id(), kChangedId) == 0 ||
         arrow::internal::ErrnoFromStatus(status) != 0;
}

}  // namespace easydata::files
