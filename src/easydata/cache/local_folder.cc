#include "easydata/cache/local_folder.h"

#include <arrow/io/interfaces.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/cache/store_marker.h"
#include "easydata/files/local_file_system.h"
#include "easydata/storage/user_path.h"

namespace easydata::cache {
namespace {

using files::RangeLocks;

constexpr char kIndex[] = ".easydata/index";
constexpr char kLocks[] = ".easydata/locks";
constexpr char kClock[] = ".easydata/clock";
constexpr char kTemporary[] = ".tmp";
constexpr char kDamaged[] = ".damaged";
constexpr char kPlans[] = "plans";
constexpr int64_t kSecond = 1'000'000'000;
/// How old what nobody can say the owner of is removed.
constexpr int64_t kOld = 24 * 3600 * kSecond;
/// Records of files that went, or came twice, that an index may have beside those of its files.
constexpr size_t kDeadRecords = 256;
/// How often a folder without an index is listed.
constexpr auto kLookAtAll = std::chrono::seconds(1);
/// How long a process waits for another one that changes the index.
constexpr auto kIndexPatience = std::chrono::seconds(2);

int64_t UnfinishedOffset(const std::string& name) {
  return LockOffset(LockRegion::kUnfinished, Hash64(name));
}

/// A name for a file that is being written, which others leave alone while this object lives.
class TemporaryName {
 public:
  explicit TemporaryName(RangeLocks* locks) : locks_(locks) {
    std::random_device random;
    name_ = ToHex(uint64_t{random()} << 32 | random());
    (void)locks_->TryLock(UnfinishedOffset(name_));
  }
  ~TemporaryName() { locks_->Unlock(UnfinishedOffset(name_)); }
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  const std::string& name() const { return name_; }
  /// Where OutputStore::OpenNew() puts it.
  std::string unfinished() const { return outputs::OutputStore::UnfinishedName(name_); }

 private:
  RangeLocks* const locks_;
  std::string name_;
};

/// Keeps other processes from changing the index; where that takes too long, or there are no
/// locks, it goes on without: a record that gets lost is found at the next opening.
class IndexLock {
 public:
  explicit IndexLock(RangeLocks* locks) : locks_(locks) {
    const auto deadline = std::chrono::steady_clock::now() + kIndexPatience;
    for (;;) {
      const auto locked = locks_->TryLock(LockOffset(LockRegion::kFolder, 0));
      if (!locked.ok() || *locked || std::chrono::steady_clock::now() > deadline) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ~IndexLock() { locks_->Unlock(LockOffset(LockRegion::kFolder, 0)); }
  IndexLock(const IndexLock&) = delete;
  IndexLock& operator=(const IndexLock&) = delete;

 private:
  RangeLocks* const locks_;
};

}  // namespace

std::string HexOf(const BlockKey::Hash& hash) { return ToHex(hash[0]) + ToHex(hash[1]); }

class LocalFolder::File final : public UnfinishedFile {
 public:
  explicit File(LocalFolder* folder) : folder_(folder), name_(&folder->locks_) {}
  ~File() override {
    file_.reset();
    if (!is_published_) (void)files::RemoveFile(folder_->PathOf(name_.unfinished()));
  }

  Status Begin() {
    ARROW_ASSIGN_OR_RAISE(file_, folder_->store_.OpenNew(name_.name()));
    return Status::OK();
  }

  Status Publish(const IndexedFile& as) override {
    ARROW_RETURN_NOT_OK(folder_->store_.Move(name_.unfinished(), as.name));
    is_published_ = true;
    ARROW_RETURN_NOT_OK(folder_->store_.Sync(""));
    // Without it the file is found at the next opening.
    (void)folder_->AppendRecord({.is_added = true, .file = as});
    return Status::OK();
  }

 private:
  LocalFolder* const folder_;
  const TemporaryName name_;
  bool is_published_ = false;
};

LocalFolder::LocalFolder(const std::string& path)
    : store_(path), locks_(PathOf(kLocks)), claims_(&locks_, path) {}

Result<std::unique_ptr<LocalFolder>> LocalFolder::Open(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(std::string folder, storage::UserPath(path));
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  std::unique_ptr<LocalFolder> out(new LocalFolder(folder));
  const Status made = out->Make();
  if (made.IsInvalid()) return made;
  // What is there is read, if nothing can be written.
  ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, out->store_.KindOfFolder());
  if (kind != files::PathKind::kFolder) {
    return made.ok() ? Status::Invalid("the cache folder is no folder: ", folder) : made;
  }
  if (made.ok()) out->RemoveLeftOvers();
  return out;
}

Result<std::unique_ptr<LocalFolder>> LocalFolder::OpenThere(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(std::string folder, storage::UserPath(path));
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  std::unique_ptr<LocalFolder> out(new LocalFolder(folder));
  bool is_marked = false;
  ARROW_RETURN_NOT_OK(out->CheckMarker(&is_marked));
  if (!is_marked) {
    return Status::Invalid("there is no cache of tokens in ", folder, " (no ", kStoreMarker,
                           "); name the folder that cache_path or cache_dir had");
  }
  return out;
}

Status LocalFolder::CheckMarker(bool* is_marked) const {
  const auto text = store_.Read(kStoreMarker);
  *is_marked = text.ok();
  return text.ok() ? CheckStoreMarker(*text, store_.folder()) : Status::OK();
}

Status LocalFolder::Make() {
  bool made = false, is_marked = false;
  ARROW_RETURN_NOT_OK(store_.MakeFolder("", &made));
  ARROW_RETURN_NOT_OK(CheckMarker(&is_marked));
  ARROW_RETURN_NOT_OK(store_.MakeFolder(outputs::kWorkFolder, &made));
  return is_marked ? Status::OK() : PutNew(kStoreMarker, StoreMarker());
}

Status LocalFolder::PutNew(const std::string& name, const std::string& content) {
  const TemporaryName temporary(&locks_);
  return files::WriteFileAtomically(PathOf(name), PathOf(temporary.unfinished()), content);
}

void LocalFolder::RemoveLeftOvers() {
  const auto names = store_.NamesIn(outputs::kWorkFolder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!name.ends_with(kTemporary)) continue;
    const std::string path = PathOf(std::string(outputs::kWorkFolder) + "/" + name);
    const int64_t offset = UnfinishedOffset(name.substr(0, name.size() - sizeof(kTemporary) + 1));
    const auto locked = locks_.TryLock(offset);
    if (locked.ok() && !*locked) continue;  // it is being written
    const auto stamp = files::StampOf(path);
    const std::optional<int64_t> now = locked.ok() ? std::nullopt : Now();
    const bool is_old =
        stamp.ok() && stamp->has_value() && now.has_value() && *now - (*stamp)->changed_ns > kOld;
    if (locked.ok() || is_old) (void)files::RemoveFile(path);
    if (locked.ok()) locks_.Unlock(offset);
  }
}

std::optional<int64_t> LocalFolder::Now() const {
  const auto now = files::TimeByTouching(PathOf(kClock));
  return now.ok() ? std::optional(*now) : std::nullopt;
}

int64_t LocalFolder::DefaultLimit(int64_t own_bytes) const {
  constexpr int64_t kMost = 100'000'000'000;
  const auto free = files::FreeBytes(store_.folder());
  return std::min(kMost, ((free.ok() ? *free : 0) + own_bytes) / 10);
}

Status LocalFolder::Look(StoreIndex* index) {
  std::lock_guard<std::mutex> lock(mutex_);
  ARROW_ASSIGN_OR_RAISE(const auto now, files::StampOf(PathOf(kIndex)));
  const bool is_same = now.has_value() && index_file_.has_value() &&
                       now->is_same_file(*index_file_) && now->size >= index_read_;
  if (!is_same) {
    // Without an index, as in a folder that is not there or cannot be written to, it takes long.
    const auto time = std::chrono::steady_clock::now();
    if (!now.has_value() && looked_at_all_ > time - kLookAtAll) return Status::OK();
    looked_at_all_ = time;
    return LookAtAll(index);
  }
  if (now->size == index_file_->size) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const std::string added, files::ReadFileFrom(PathOf(kIndex), index_read_));
  ParsedRecords parsed = ParseRecords(added);
  index_read_ += static_cast<int64_t>(parsed.used);
  index_file_ = now;
  index->Apply(std::move(parsed.records));
  return Status::OK();
}

Status LocalFolder::LookAtAll(StoreIndex* index) {
  const IndexLock only(&locks_);
  const auto names = Names();
  std::set<std::string> there;
  if (names.ok()) there.insert(names->begin(), names->end());
  ARROW_ASSIGN_OR_RAISE(index_file_, files::StampOf(PathOf(kIndex)));
  const auto text = files::ReadWholeFile(PathOf(kIndex));
  index_read_ = 0;
  bool is_mended = !text.ok();
  size_t records = 0;
  StoreIndex found;
  if (text.ok()) {
    const bool has_header = text->starts_with(IndexHeader());
    const size_t begin = has_header ? IndexHeader().size() : 0;
    ParsedRecords parsed = ParseRecords(std::string_view(*text).substr(begin));
    is_mended |= !has_header || parsed.is_damaged || begin + parsed.used != text->size();
    records = parsed.records.size();
    index_read_ = static_cast<int64_t>(begin + parsed.used);
    found.Apply(std::move(parsed.records));
  }
  found.KeepOnly(there);
  for (const std::string& name : there) {
    if (found.Contains(name)) continue;
    const auto file = OpenFile(name);
    if (!file.ok()) continue;  // it is not ours, or of no use
    const auto stamp = files::StampOf(PathOf(name));
    if (!stamp.ok() || !stamp->has_value()) continue;
    found.Add({name, (*stamp)->size, (*file)->blocks()});
    is_mended = true;
  }
  const auto known = found.files();
  is_mended |= records > 2 * known.size() + kDeadRecords;
  for (const auto& file : known) index->Add(file->indexed());
  std::set<std::string> kept;
  for (const auto& file : known) kept.insert(file->name());
  index->KeepOnly(kept);
  // A folder that was removed is made anew with the next file.
  if (is_mended && names.ok()) (void)WriteIndex(found);
  return Status::OK();
}

Status LocalFolder::WriteIndex(const StoreIndex& index) {
  std::string content(IndexHeader());
  for (const auto& file : index.files()) {
    content += EncodeRecord({.is_added = true, .file = file->indexed()});
  }
  ARROW_RETURN_NOT_OK(PutNew(kIndex, content));
  ARROW_ASSIGN_OR_RAISE(index_file_, files::StampOf(PathOf(kIndex)));
  index_read_ = static_cast<int64_t>(content.size());
  return Status::OK();
}

Status LocalFolder::AppendRecord(const IndexRecord& record) {
  std::lock_guard<std::mutex> lock(mutex_);
  const IndexLock only(&locks_);
  ARROW_ASSIGN_OR_RAISE(const auto there, files::StampOf(PathOf(kIndex)));
  if (!there.has_value()) ARROW_RETURN_NOT_OK(PutNew(kIndex, std::string(IndexHeader())));
  return files::AppendToFile(PathOf(kIndex), EncodeRecord(record));
}

Result<std::vector<std::string>> LocalFolder::Names() {
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> names, store_.NamesIn(""));
  std::erase_if(names, [](const std::string& name) { return !IsTokenFileName(name); });
  return names;
}

Result<std::shared_ptr<TokenFile>> LocalFolder::OpenFile(const std::string& name) {
  const files::LocalFileSystem system;
  ARROW_ASSIGN_OR_RAISE(files::FileInfo info, system.Stat(PathOf(name)));
  // Its time changes with its use; what it holds has hashes of its own.
  info.identity.kind = files::IdentityKind::kSize;
  ARROW_ASSIGN_OR_RAISE(auto file, system.Open(info));
  return TokenFile::Open(std::move(file), info.size);
}

Result<std::unique_ptr<UnfinishedFile>> LocalFolder::Begin() {
  auto file = std::make_unique<File>(this);
  Status begun = file->Begin();
  if (arrow::internal::ErrnoFromStatus(begun) == ENOENT) {
    // Somebody removed the folder.
    ARROW_RETURN_NOT_OK(Make());
    file = std::make_unique<File>(this);
    begun = file->Begin();
  }
  ARROW_RETURN_NOT_OK(begun);
  return file;
}

std::optional<int64_t> LocalFolder::SecondsSinceUse(const std::string& name) {
  const auto stamp = files::StampOf(PathOf(name));
  const std::optional<int64_t> now = Now();
  if (!stamp.ok() || !stamp->has_value() || !now.has_value()) return std::nullopt;
  return std::max<int64_t>(0, *now - (*stamp)->changed_ns) / kSecond;
}

void LocalFolder::NoteUse(const std::string& name) { (void)files::TouchFile(PathOf(name)); }

void LocalFolder::SetAside(const std::string& name) {
  if (files::RenameFile(PathOf(name), PathOf(name + kDamaged)).ok()) {
    IndexRecord record{.is_added = false, .file = {}};
    record.file.name = name;
    (void)AppendRecord(record);
  }
}

void LocalFolder::NoteRunning(const BlockKey::Hash& plan) {
  (void)locks_.TryLock(LockOffset(LockRegion::kPlans, plan[1]), RangeLocks::Kind::kShared);
}

Status LocalFolder::PutPlan(const BlockKey::Hash& plan, const std::string& json) {
  const std::string name = std::string(kPlans) + "/" + HexOf(plan) + ".json";
  ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store_.KindOf(name));
  if (kind != files::PathKind::kNothing) return Status::OK();
  bool made = false;
  ARROW_RETURN_NOT_OK(store_.MakeFolder(kPlans, &made));
  return PutNew(name, json);
}

std::string LocalFolder::PlanOf(const BlockKey::Hash& plan) {
  const auto text = store_.Read(std::string(kPlans) + "/" + HexOf(plan) + ".json");
  return text.ok() ? *text : "";
}

}  // namespace easydata::cache
