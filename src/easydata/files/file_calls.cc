#include "easydata/files/file_calls.h"

#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "easydata/base/fault_point.h"

namespace easydata::files {
namespace {

/// Makes a call until no signal interrupts it, its fault point before it: 0, or the errno.
template <typename Call>
int ErrorOf(FaultKind kind, const std::string& path, Call call) {
  for (;;) {
    int error = FaultAt(kind, path);
    if (error == 0 && call() < 0) error = errno;
    if (error != EINTR) return error;
  }
}

std::string ParentOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

FileStamp StampFrom(const struct stat& found) {
  constexpr int64_t kSecond = 1'000'000'000;
  return {found.st_dev, found.st_ino, found.st_size,
          static_cast<int64_t>(found.st_mtim.tv_sec) * kSecond + found.st_mtim.tv_nsec};
}

}  // namespace

Status PathError(const std::string& what, const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return Status::IOError("cannot ", what, " ", path, ": ", std::strerror(error), "; ",
                         full ? "make room there, or " : "",
                         "choose an output path that can be written")
      .WithDetail(arrow::internal::StatusDetailFromErrno(error));
}

Result<int> OpenPath(const std::string& path, int flags) {
  int fd = -1;
  const int error = ErrorOf(FaultKind::kOpen, path, [&] {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    return fd;
  });
  const bool reads = (flags & O_ACCMODE) == O_RDONLY;
  if (error != 0) return PathError(reads ? "read" : "write", path, error);
  return fd;
}

Status WriteAll(int fd, const void* data, int64_t size, const std::string& path) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t written = 0;
    const int error = ErrorOf(FaultKind::kWrite, path, [&] {
      written = ::write(fd, bytes, static_cast<size_t>(std::min<int64_t>(size, 1 << 30)));
      return written;
    });
    if (error != 0) return PathError("write", path, error);
    bytes += written;
    size -= written;
  }
  return Status::OK();
}

Result<int64_t> ReadSome(int fd, void* data, size_t size, const std::string& path) {
  ssize_t read = 0;
  const int error = ErrorOf(FaultKind::kRead, path, [&] {
    read = ::read(fd, data, size);
    return read;
  });
  if (error != 0) return PathError("read", path, error);
  return read;
}

Status SyncFile(int fd, const std::string& path) {
  const int error = ErrorOf(FaultKind::kSync, path, [&] { return ::fsync(fd); });
  return error == 0 ? Status::OK() : PathError("write", path, error);
}

Status CloseFile(int fd, const std::string& path) {
  // Called once, whatever the result: a descriptor is gone even where close() fails. Interrupted,
  // it has closed too.
  const int injected = FaultAt(FaultKind::kClose, path);
  int error = ::close(fd) < 0 ? errno : 0;
  if (injected != 0) error = injected;
  return error == 0 || error == EINTR ? Status::OK() : PathError("write", path, error);
}

Status RenameFile(const std::string& from, const std::string& to) {
  const int error =
      ErrorOf(FaultKind::kRename, to, [&] { return std::rename(from.c_str(), to.c_str()); });
  return error == 0 ? Status::OK() : PathError("rename to", to, error);
}

Status RemoveFile(const std::string& path) {
  const int error = ErrorOf(FaultKind::kUnlink, path, [&] { return ::unlink(path.c_str()); });
  return error == 0 || error == ENOENT ? Status::OK() : PathError("delete", path, error);
}

Status MakeFolder(const std::string& path, bool* made) {
  std::error_code failed;
  *made = false;
  const int error = ErrorOf(FaultKind::kOpen, path, [&] {
    *made = std::filesystem::create_directories(path, failed);
    errno = failed.value();
    return failed ? -1 : 0;
  });
  if (error != 0) return PathError("make the folder", path, error);
  return *made ? SyncFolder(ParentOf(path)) : Status::OK();
}

Status RemoveFolder(const std::string& path) {
  const int error = ErrorOf(FaultKind::kUnlink, path, [&] { return ::rmdir(path.c_str()); });
  return error == 0 || error == ENOENT ? Status::OK() : PathError("delete", path, error);
}

Status SyncFolder(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path, O_RDONLY | O_DIRECTORY));
  const int error = ErrorOf(FaultKind::kSync, path, [&] { return ::fsync(fd); });
  const Status closed = CloseFile(fd, path);
  // Some file systems cannot sync folders.
  if (error != 0 && error != EINVAL) return PathError("write", path, error);
  return closed;
}

Result<PathKind> KindOfPath(const std::string& path) {
  struct stat found;
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return PathKind::kNothing;
    return PathError("read", path, errno);
  }
  if (S_ISREG(found.st_mode)) return PathKind::kFile;
  if (S_ISDIR(found.st_mode)) return PathKind::kFolder;
  return S_ISLNK(found.st_mode) ? PathKind::kLink : PathKind::kOther;
}

Result<std::optional<FileStamp>> StampOf(const std::string& path) {
  struct stat found;
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return PathError("read", path, errno);
  }
  if (!S_ISREG(found.st_mode)) return std::nullopt;
  return StampFrom(found);
}

Status TouchFile(const std::string& path) {
  const int error = ErrorOf(FaultKind::kWrite, path, [&] {
    const struct timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    return ::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
  });
  return error == 0 ? Status::OK() : PathError("touch", path, error);
}

Result<int64_t> TimeByTouching(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path, O_WRONLY | O_CREAT | O_NOFOLLOW));
  struct stat found;
  const int error = ErrorOf(FaultKind::kWrite, path, [&] {
    const struct timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    return ::futimens(fd, times) != 0 ? -1 : ::fstat(fd, &found);
  });
  ::close(fd);
  if (error != 0) return PathError("touch", path, error);
  return StampFrom(found).changed_ns;
}

Result<int64_t> FreeBytes(const std::string& folder) {
  struct statvfs found;
  if (::statvfs(folder.c_str(), &found) != 0) return PathError("read", folder, errno);
  return static_cast<int64_t>(found.f_bavail) * static_cast<int64_t>(found.f_frsize);
}

Result<std::vector<std::string>> NamesInFolder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return PathError("read", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> ReadWholeFile(const std::string& path) { return ReadFileFrom(path, 0); }

Result<std::string> ReadFileFrom(const std::string& path, int64_t offset) {
  ARROW_ASSIGN_OR_RAISE(const PathKind kind, KindOfPath(path));
  if (kind != PathKind::kFile && kind != PathKind::kNothing) {
    return Status::IOError(path, " is not a regular file, and nothing else is read there");
  }
  // A link or FIFO that took the file's place since is neither followed nor waited for.
  ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (offset > 0 && ::lseek(fd, offset, SEEK_SET) < 0) {
    const int error = errno;
    ::close(fd);
    return PathError("read", path, error);
  }
  std::string content;
  std::array<char, 64 * 1024> chunk;
  for (;;) {
    auto size = ReadSome(fd, chunk.data(), chunk.size(), path);
    if (!size.ok()) ::close(fd);
    ARROW_RETURN_NOT_OK(size.status());
    if (*size == 0) break;
    content.append(chunk.data(), static_cast<size_t>(*size));
  }
  ::close(fd);
  return content;
}

namespace {

Status WriteAndClose(int fd, const std::string& path, const std::string& content) {
  Status status = WriteAll(fd, content.data(), static_cast<int64_t>(content.size()), path);
  if (status.ok()) status = SyncFile(fd, path);
  const Status closed = CloseFile(fd, path);
  return status.ok() ? closed : status;
}

}  // namespace

Result<int> LockFile(const std::string& path) {
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path, O_RDWR | O_CREAT | O_NOFOLLOW));
    const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
    struct stat held, there;
    const bool same = locked && ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
                      held.st_ino == there.st_ino;
    if (same) return fd;
    ::close(fd);
    // Else the process that held it has finished, and removed the file, in between.
    if (!locked) return -1;
  }
}

void UnlockFile(int fd) { ::close(fd); }

Status AppendToFile(const std::string& path, const std::string& content) {
  ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path, O_WRONLY | O_APPEND | O_NOFOLLOW));
  return WriteAndClose(fd, path, content);
}

Status WriteFileAtomically(const std::string& path, const std::string& temporary,
                           const std::string& content) {
  ARROW_ASSIGN_OR_RAISE(const int fd,
                        OpenPath(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW));
  Status status = WriteAndClose(fd, temporary, content);
  if (status.ok()) status = RenameFile(temporary, path);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return SyncFolder(ParentOf(path));
}

}  // namespace easydata::files
