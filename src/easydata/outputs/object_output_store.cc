#include "easydata/outputs/object_output_store.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>

#include "easydata/exec/parallel_for.h"
#include "easydata/exec/time_limit.h"
#include "easydata/http/http_object.h"

namespace easydata::outputs {
namespace {

/// Files at once that have the part in memory that they are to send next.
constexpr size_t kMostInMemory = 8;
/// Requests at once where more files are removed than that.
constexpr int kRemovedAtOnce = 16;

struct FolderAndName {
  std::string folder;
  std::string name;
};

FolderAndName Split(const std::string& name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

/// Whether it is a name that we give to what is uploaded in parts.
bool IsShardName(std::string_view name) {
  const std::string work = std::string(kWorkFolder) + "/";
  if (name.starts_with(work)) name.remove_prefix(work.size());
  return name.starts_with("shard-") && name.find('/') == std::string_view::npos;
}

}  // namespace

ObjectOutputStore::ObjectOutputStore(std::shared_ptr<const stores::ObjectStore> store,
                                     std::string folder, std::string bucket, std::string prefix,
                                     LockTimes times)
    : OutputStore(std::move(folder)),
      store_(std::move(store)),
      bucket_(std::move(bucket)),
      prefix_(std::move(prefix)),
      times_(times),
      sender_(std::make_shared<PartSender>(store_)) {}

Result<std::unique_ptr<OutputStore>> ObjectOutputStore::Make(
    std::shared_ptr<const stores::ObjectStore> store, std::string folder, LockTimes times) {
  ARROW_ASSIGN_OR_RAISE(stores::BucketAndKey output, stores::SplitObjectUri(folder));
  while (output.key.ends_with('/')) output.key.pop_back();
  while (folder.ends_with('/')) folder.pop_back();
  std::string prefix = std::move(output.key);
  if (!prefix.empty()) prefix += '/';
  return std::unique_ptr<OutputStore>(new ObjectOutputStore(
      std::move(store), std::move(folder), std::move(output.bucket), std::move(prefix), times));
}

ObjectOutputStore::~ObjectOutputStore() {
  if (lock_ == nullptr && !sender_->has_begun()) return;
  const exec::TimeLimit limit(kTidyUpLimit);
  Unlock();
}

Result<const ObjectOutputStore::Listed*> ObjectOutputStore::List(const std::string& folder) const {
  const auto [known, is_new] = listed_.try_emplace(folder);
  Listed& listed = known->second;
  if (!is_new) return &listed;
  if (!folder.empty()) {
    // Where there is no such folder, nobody need ask.
    const auto above = List("");
    if (!above.ok() || !(*above)->folders.contains(folder)) {
      listed_.erase(folder);
      ARROW_RETURN_NOT_OK(above.status());
      static const Listed nothing;
      return &nothing;
    }
  }
  const std::string prefix = folder.empty() ? prefix_ : prefix_ + folder + "/";
  auto page = store_->ListAll(bucket_, prefix, /*by_folder=*/true);
  if (!page.ok()) {
    listed_.erase(folder);
    return page.status();
  }
  const size_t above = std::string(store_->scheme()).size() + 3 + bucket_.size() + 1;
  for (files::FileInfo& object : page->objects) {
    std::string name = object.uri.substr(above + prefix.size());
    // An object of the folder's own name is one that somebody made to see the folder.
    if (!name.empty()) listed.files[std::move(name)] = std::move(object);
  }
  for (const std::string& key : page->folders) {
    listed.folders.insert(key.substr(prefix.size(), key.size() - prefix.size() - 1));
  }
  return &listed;
}

Result<const files::FileInfo*> ObjectOutputStore::Find(const std::string& name) const {
  const FolderAndName at = Split(name);
  ARROW_ASSIGN_OR_RAISE(const Listed* listed, List(at.folder));
  const auto found = listed->files.find(at.name);
  return found == listed->files.end() ? nullptr : &found->second;
}

void ObjectOutputStore::NoteFile(const std::string& name, int64_t size) {
  const FolderAndName at = Split(name);
  if (!at.folder.empty() && listed_.contains("")) listed_[""].folders.insert(at.folder);
  const auto listed = listed_.find(at.folder);
  if (listed == listed_.end()) return;
  files::FileInfo& info = listed->second.files[at.name];
  info = {};
  info.uri = PathOf(name);
  info.size = size;
}

void ObjectOutputStore::NoteRemoved(const std::string& name) {
  const FolderAndName at = Split(name);
  const auto listed = listed_.find(at.folder);
  if (listed != listed_.end()) listed->second.files.erase(at.name);
}

Result<files::PathKind> ObjectOutputStore::KindOfFolder() const {
  ARROW_ASSIGN_OR_RAISE(const Listed* listed, List(""));
  if (!listed->files.empty() || !listed->folders.empty()) return files::PathKind::kFolder;
  if (prefix_.empty()) return files::PathKind::kFolder;  // the bucket itself
  const auto object = http::StatHttpObject(*store_, folder());
  if (object.ok()) return files::PathKind::kOther;
  if (arrow::internal::ErrnoFromStatus(object.status()) == ENOENT) return files::PathKind::kNothing;
  return object.status();
}

Result<files::PathKind> ObjectOutputStore::KindOf(const std::string& name) const {
  const FolderAndName at = Split(name);
  ARROW_ASSIGN_OR_RAISE(const Listed* listed, List(at.folder));
  if (listed->files.contains(at.name)) return files::PathKind::kFile;
  return listed->folders.contains(at.name) ? files::PathKind::kFolder : files::PathKind::kNothing;
}

Result<std::vector<std::string>> ObjectOutputStore::NamesIn(const std::string& folder) const {
  ARROW_ASSIGN_OR_RAISE(const Listed* listed, List(folder));
  std::set<std::string> names = listed->folders;
  for (const auto& [name, info] : listed->files) names.insert(name);
  return std::vector<std::string>(names.begin(), names.end());
}

Result<std::optional<int64_t>> ObjectOutputStore::SizeOf(const std::string& name) const {
  ARROW_ASSIGN_OR_RAISE(const files::FileInfo* info, Find(name));
  if (info == nullptr) return std::nullopt;
  return info->size;
}

Result<std::string> ObjectOutputStore::HashOf(const std::string& name,
                                              const std::function<bool()>& stopped) const {
  ARROW_ASSIGN_OR_RAISE(const files::FileInfo* found, Find(name));
  if (found == nullptr) {
    return arrow::internal::IOErrorFromErrno(ENOENT, "there is no ", PathOf(name));
  }
  ARROW_ASSIGN_OR_RAISE(const auto file, http::OpenHttpObject(store_, *found));
  return HashOfOpenFile(file.get(), found->size, stopped);
}

Result<std::string> ObjectOutputStore::Read(const std::string& name) const {
  return http::ReadHttpObject(*store_, PathOf(name));
}

Status ObjectOutputStore::MakeFolder(const std::string&, bool* made) {
  *made = false;
  return Status::OK();
}

void ObjectOutputStore::AddNotice(const std::string& text) {
  if (!text.empty()) notice_ += (notice_.empty() ? "" : "; ") + text;
}

Status ObjectOutputStore::Lock(const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(lock_, ObjectLock::Take(store_, PathOf(name), folder(), times_));
  AddNotice(lock_->notice());
  const Status ended = EndOpenUploads();
  if (ended.IsCancelled()) return ended;
  if (!ended.ok()) AddNotice("uploads that earlier jobs left open may stay so: " + ended.message());
  return Status::OK();
}

/// Ends the uploads below the output that are open: those that this object did not begin either, or
/// whose beginning got no answer.
Status ObjectOutputStore::EndOpenUploads() {
  ARROW_ASSIGN_OR_RAISE(const auto uploads, store_->ListUploads(folder() + "/"));
  for (const stores::OpenUpload& upload : uploads) {
    const size_t above = folder().size() + 1;
    const bool is_below = upload.uri.starts_with(folder() + "/");
    if (!is_below || !IsShardName(std::string_view(upload.uri).substr(above))) continue;
    ARROW_RETURN_NOT_OK(store_->AbortUpload(upload.uri, upload.id));
  }
  return Status::OK();
}

Status ObjectOutputStore::CheckLock() { return lock_ == nullptr ? Status::OK() : lock_->Check(); }

Status ObjectOutputStore::RemoveLock() {
  if (lock_ == nullptr) return Status::OK();
  ARROW_RETURN_NOT_OK(CheckLock());
  ARROW_RETURN_NOT_OK(sender_->AbortAll());
  // Best effort: these are no part of the output, and the next job sees to them, too.
  if (may_be_uploads()) (void)EndOpenUploads();
  ARROW_RETURN_NOT_OK(lock_->Release());
  lock_ = nullptr;
  return Status::OK();
}

void ObjectOutputStore::Unlock() {
  opened_.clear();
  (void)sender_->AbortAll();
  if (lock_ == nullptr) return;
  if (may_be_uploads() && CheckLock().ok()) (void)EndOpenUploads();
  (void)lock_->Release();
  lock_ = nullptr;
}

Status ObjectOutputStore::Put(const std::string& name, const std::string& content) {
  ARROW_RETURN_NOT_OK(CheckLock());
  ARROW_RETURN_NOT_OK(store_->Put(PathOf(name), content));
  put_[name] = content;
  NoteFile(name, static_cast<int64_t>(content.size()));
  return Status::OK();
}

Status ObjectOutputStore::Append(const std::string& name, const std::string& addition) {
  return Put(name, put_[name] + addition);
}

Result<std::shared_ptr<OutputFile>> ObjectOutputStore::OpenNew(const std::string& name) {
  const bool in_file = opened_.size() >= kMostInMemory;
  auto upload = std::make_shared<ObjectUpload>(store_, sender_, PathOf(name), in_file);
  opened_[name] = upload;
  return upload;
}

Status ObjectOutputStore::Publish(const std::string& name) {
  const auto opened = opened_.find(name);
  if (opened == opened_.end()) return Status::Invalid(PathOf(name), " was not opened");
  ARROW_RETURN_NOT_OK(CheckLock());
  ARROW_RETURN_NOT_OK(opened->second->Complete());
  NoteFile(name, opened->second->size());
  opened_.erase(opened);
  return Status::OK();
}

Status ObjectOutputStore::Move(const std::string& from, const std::string& to) {
  ARROW_RETURN_NOT_OK(CheckLock());
  ARROW_ASSIGN_OR_RAISE(const auto size, SizeOf(from));
  Status copied = store_->Copy(PathOf(from), PathOf(to));
  if (copied.IsNotImplemented()) copied = CopyByReading(from, to);
  ARROW_RETURN_NOT_OK(copied);
  NoteFile(to, size.value_or(0));
  return Remove(from);
}

/// Copies a file that is too large for the store to copy it.
Status ObjectOutputStore::CopyByReading(const std::string& from, const std::string& to) {
  constexpr int64_t kPiece = int64_t{8} << 20;
  ARROW_ASSIGN_OR_RAISE(const files::FileInfo info, http::StatHttpObject(*store_, PathOf(from)));
  ARROW_ASSIGN_OR_RAISE(const auto file, http::OpenHttpObject(store_, info));
  ObjectUpload copy(store_, sender_, PathOf(to), /*buffers_in_file=*/false);
  for (int64_t at = 0; at < info.size; at += kPiece) {
    ARROW_ASSIGN_OR_RAISE(const auto piece, file->ReadAt(at, std::min(kPiece, info.size - at)));
    ARROW_RETURN_NOT_OK(copy.Write(piece->data(), piece->size()));
  }
  ARROW_RETURN_NOT_OK(copy.Close());
  return copy.Complete();
}

Status ObjectOutputStore::Remove(const std::string& name) {
  ARROW_RETURN_NOT_OK(CheckLock());
  ARROW_RETURN_NOT_OK(store_->Delete(PathOf(name)));
  put_.erase(name);
  NoteRemoved(name);
  return Status::OK();
}

Status ObjectOutputStore::RemoveAll(const std::vector<std::string>& names) {
  ARROW_RETURN_NOT_OK(CheckLock());
  // Each is a request, and an output of many units has as many names. A limit of time is of a
  // thread: few names are removed in this one.
  const int threads = names.size() > kRemovedAtOnce ? kRemovedAtOnce : 1;
  ARROW_RETURN_NOT_OK(exec::ParallelFor(
      names.size(), threads, [&](size_t i) { return store_->Delete(PathOf(names[i])); }));
  for (const std::string& name : names) {
    put_.erase(name);
    NoteRemoved(name);
  }
  return Status::OK();
}

}  // namespace easydata::outputs
