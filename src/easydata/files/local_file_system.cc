#include "easydata/files/local_file_system.h"

#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "easydata/base/fault_point.h"
#include "easydata/base/utc_time.h"
#include "easydata/files/positioned_file.h"

namespace easydata::files {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

int64_t ChangedAt(const struct stat& info) {
  return static_cast<int64_t>(info.st_mtim.tv_sec) * kSecond + info.st_mtim.tv_nsec;
}

const char* KindOf(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO (named pipe)";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISBLK(mode) || S_ISCHR(mode)) return "a device";
  return "of an unknown kind";
}

/// An IOError where a path is not a regular file; links were followed.
Status CheckRegular(const std::string& path, const struct stat& info) {
  if (S_ISREG(info.st_mode)) return Status::OK();
  if (S_ISDIR(info.st_mode)) {
    return arrow::internal::IOErrorFromErrno(EISDIR, "cannot read ", path, " as a file");
  }
  return arrow::internal::IOErrorFromErrno(
      EINVAL, path, " is ", KindOf(info.st_mode),
      ", no regular file: data must be in files; write it into one, or leave this name out");
}

Status CannotOpen(const std::string& path, int error) {
  return arrow::internal::IOErrorFromErrno(error, "cannot open ", path);
}

Status Changed(const FileInfo& file, const struct stat& now) {
  std::string was = std::to_string(file.size) + " bytes";
  std::string is = std::to_string(now.st_size) + " bytes";
  std::string advice;
  if (file.identity.kind != IdentityKind::kSize) {
    was += ", changed " + UtcTime(file.identity.mtime_ns);
    is += ", changed " + UtcTime(ChangedAt(now));
  }
  if (file.identity.kind == IdentityKind::kTime && file.size == now.st_size) {
    advice =
        " (identity=\"content\" or \"size\" of the source is for files of which only the time "
        "changes)";
  }
  return FileChangedError(
      file.uri + " is not the file any more that was listed: it had " + was + ", now it has " + is +
      "; put that file back and resume from the last saved state, or start anew "
      "with the files as they are" +
      advice);
}

class LocalFile : public PositionedFile {
 public:
  /// Takes `fd`. `mtime_ns`: the time of change that the file must keep while it is read.
  LocalFile(FileInfo file, int fd, int64_t mtime_ns)
      : PositionedFile(std::move(file)), mtime_ns_(mtime_ns), fd_(fd) {}
  ~LocalFile() override { CloseFile(); }

  Status Close() override {
    CloseFile();
    return PositionedFile::Close();
  }

  using PositionedFile::ReadAt;
  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    ARROW_RETURN_NOT_OK(CheckRange(position, size));
    int64_t got = 0;
    while (got < size) {
      int error = FaultAt(FaultKind::kRead, info().uri);
      ssize_t step = -1;
      if (error == 0) {
        step = pread(fd_, static_cast<char*>(out) + got, static_cast<size_t>(size - got),
                     position + got);
        if (step < 0) error = errno;
      }
      if (error == EINTR) continue;
      if (error != 0) {
        return arrow::internal::IOErrorFromErrno(error, "cannot read ", info().uri, " at byte ",
                                                 position + got);
      }
      if (step == 0) break;
      got += step;
    }
    ARROW_RETURN_NOT_OK(CheckUnchanged());
    return got;
  }

 private:
  /// The data just read may be of another file, or half of one and half of the other.
  Status CheckUnchanged() const {
    struct stat now;
    if (fstat(fd_, &now) != 0) {
      return arrow::internal::IOErrorFromErrno(errno, "cannot look at ", info().uri);
    }
    const bool same_time =
        info().identity.kind == IdentityKind::kSize || ChangedAt(now) == mtime_ns_;
    return now.st_size == info().size && same_time ? Status::OK() : Changed(info(), now);
  }

  void CloseFile() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  const int64_t mtime_ns_;
  int fd_;
};

struct OpenedFile {
  std::shared_ptr<LocalFile> file;
  struct stat info;
};

/// Opens a path, whatever it was when it was listed.
Result<OpenedFile> OpenNow(const FileInfo& file) {
  OpenedFile out;
  // Checked first: opening a device may already do something.
  if (stat(file.uri.c_str(), &out.info) != 0) return CannotOpen(file.uri, errno);
  ARROW_RETURN_NOT_OK(CheckRegular(file.uri, out.info));
  int fd = -1;
  int error = EINTR;
  while (error == EINTR) {
    error = FaultAt(FaultKind::kOpen, file.uri);
    if (error != 0) continue;
    fd = open(file.uri.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    error = fd < 0 ? errno : 0;
  }
  if (error != 0) return CannotOpen(file.uri, error);
  const bool is_known = fstat(fd, &out.info) == 0;
  out.file = std::make_shared<LocalFile>(file, fd, is_known ? ChangedAt(out.info) : 0);
  if (!is_known) return CannotOpen(file.uri, errno);
  ARROW_RETURN_NOT_OK(CheckRegular(file.uri, out.info));
  return out;
}

}  // namespace

Result<FileInfo> LocalFileSystem::Stat(const std::string& path) const {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return CannotOpen(path, errno);
  ARROW_RETURN_NOT_OK(CheckRegular(path, info));
  return FileInfo{path, info.st_size, {IdentityKind::kTime, ChangedAt(info), {}}};
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> LocalFileSystem::Open(
    const FileInfo& file) const {
  ARROW_ASSIGN_OR_RAISE(OpenedFile opened, OpenNow(file));
  const bool same_time = ChangedAt(opened.info) == file.identity.mtime_ns;
  if (opened.info.st_size != file.size) return Changed(file, opened.info);
  if (file.identity.kind == IdentityKind::kTime && !same_time) return Changed(file, opened.info);
  if (file.identity.kind == IdentityKind::kContent && !same_time) {
    ARROW_ASSIGN_OR_RAISE(const std::string hash,
                          HashOfContent(opened.file.get(), file.size, nullptr));
    if (hash != file.identity.tag) return Changed(file, opened.info);
  }
  return opened.file;
}

bool LocalFileSystem::IsKnownToDiffer(const FileInfo& file) const {
  struct stat now;
  if (stat(file.uri.c_str(), &now) != 0 || !S_ISREG(now.st_mode)) return true;
  if (now.st_size != file.size) return true;
  return file.identity.kind != IdentityKind::kSize && ChangedAt(now) != file.identity.mtime_ns;
}

}  // namespace easydata::files
