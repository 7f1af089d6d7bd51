#include "easydata/outputs/local_output_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "easydata/files/file_calls.h"
#include "easydata/outputs/lock_owner.h"

namespace easydata::outputs {
namespace {

namespace fs = std::filesystem;

class LocalOutputFile final : public OutputFile {
 public:
  LocalOutputFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~LocalOutputFile() override {
    if (fd_ >= 0) ::close(fd_);
  }

  Status Close() override {
    if (fd_ < 0) return Status::OK();
    const int fd = std::exchange(fd_, -1);
    const Status synced = files::SyncFile(fd, path_);
    const Status closed = files::CloseFile(fd, path_);
    return synced.ok() ? closed : synced;
  }
  bool closed() const override { return fd_ < 0; }

 private:
  Status Store(const void* data, int64_t size) override {
    return files::WriteAll(fd_, data, size, path_);
  }

  int fd_;
  const std::string path_;
};

}  // namespace

LocalOutputStore::~LocalOutputStore() { Unlock(); }

std::string LocalOutputStore::FolderOf(const std::string& name) const {
  return name.empty() ? folder() : PathOf(name);
}

Result<files::PathKind> LocalOutputStore::KindOfFolder() const {
  std::error_code error;
  const fs::file_status status = fs::status(folder(), error);
  if (!fs::exists(status)) return files::PathKind::kNothing;
  return fs::is_directory(status) ? files::PathKind::kFolder : files::PathKind::kOther;
}

Result<files::PathKind> LocalOutputStore::KindOf(const std::string& name) const {
  return files::KindOfPath(PathOf(name));
}

Result<std::vector<std::string>> LocalOutputStore::NamesIn(const std::string& folder) const {
  return files::NamesInFolder(FolderOf(folder));
}

Result<std::optional<int64_t>> LocalOutputStore::SizeOf(const std::string& name) const {
  ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, KindOf(name));
  if (kind != files::PathKind::kFile) return std::nullopt;
  std::error_code error;
  const auto size = static_cast<int64_t>(fs::file_size(PathOf(name), error));
  if (error) return std::nullopt;
  return size;
}

Result<std::string> LocalOutputStore::HashOf(const std::string& name,
                                             const std::function<bool()>& stopped) const {
  return HashOfFile(PathOf(name), stopped);
}

Result<std::string> LocalOutputStore::Read(const std::string& name) const {
  return files::ReadWholeFile(PathOf(name));
}

Status LocalOutputStore::MakeFolder(const std::string& name, bool* made) {
  return files::MakeFolder(FolderOf(name), made);
}

Status LocalOutputStore::RemoveFolder(const std::string& name) {
  return files::RemoveFolder(FolderOf(name));
}

Status LocalOutputStore::Lock(const std::string& name) {
  lock_ = name;
  ARROW_ASSIGN_OR_RAISE(lock_fd_, files::LockFile(PathOf(name)));
  if (lock_fd_ >= 0) {
    // Who has it is read by those who ask for progress; the lock itself is the system's.
    const std::string owner = LockOwner::OfThisProcess().ToText(0);
    if (::ftruncate(lock_fd_, 0) != 0) return Status::OK();
    return files::WriteAll(lock_fd_, owner.data(), static_cast<int64_t>(owner.size()),
                           PathOf(name));
  }
  return Status::IOError(
      "another process is writing to this folder; wait for it or choose another "
      "output path: ",
      folder());
}

Status LocalOutputStore::RemoveLock() { return files::RemoveFile(PathOf(lock_)); }

void LocalOutputStore::Unlock() {
  if (lock_fd_ < 0) return;
  // Nobody has it any more, though this process may go on.
  if (::ftruncate(lock_fd_, 0) != 0) errno = 0;
  files::UnlockFile(std::exchange(lock_fd_, -1));
}

Status LocalOutputStore::Put(const std::string& name, const std::string& content) {
  return files::WriteFileAtomically(PathOf(name), PathOf(OwnUnfinishedName(name)), content);
}

Status LocalOutputStore::Append(const std::string& name, const std::string& addition) {
  return files::AppendToFile(PathOf(name), addition);
}

Result<std::shared_ptr<OutputFile>> LocalOutputStore::OpenNew(const std::string& name) {
  std::string path = PathOf(OwnUnfinishedName(name));
  ARROW_ASSIGN_OR_RAISE(const int fd,
                        files::OpenPath(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW));
  return std::make_shared<LocalOutputFile>(fd, std::move(path));
}

Status LocalOutputStore::Publish(const std::string& name) {
  ARROW_RETURN_NOT_OK(Move(OwnUnfinishedName(name), name));
  const size_t slash = name.rfind('/');
  return Sync(slash == std::string::npos ? "" : name.substr(0, slash));
}

Status LocalOutputStore::Move(const std::string& from, const std::string& to) {
  return files::RenameFile(PathOf(from), PathOf(to));
}

Status LocalOutputStore::Remove(const std::string& name) { return files::RemoveFile(PathOf(name)); }

Status LocalOutputStore::Sync(const std::string& folder) {
  return files::SyncFolder(FolderOf(folder));
}

}  // namespace easydata::outputs
