#include "easydata/io/local_file.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "easydata/base/fault_point.h"
#include "easydata/base/hash.h"
#include "easydata/base/utc_time.h"

namespace easydata {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr const char kChangedId[] = "easydata::FileChanged";

/// Marks the errors of files that are others now.
class FileChanged : public arrow::StatusDetail {
 public:
  const char* type_id() const override { return kChangedId; }
  std::string ToString() const override { return "the file was changed"; }
};

int64_t ChangedAt(const struct stat& info) {
  return static_cast<int64_t>(info.st_mtim.tv_sec) * kSecond + info.st_mtim.tv_nsec;
}

const char* KindOf(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO (named pipe)";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISBLK(mode) || S_ISCHR(mode)) return "a device";
  return "of an unknown kind";
}

/// An IOError where a path is no regular file; links were followed.
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

Status Changed(const DataFile& file, const struct stat& now) {
  std::string was = std::to_string(file.bytes) + " bytes";
  std::string is = std::to_string(now.st_size) + " bytes";
  std::string advice;
  if (file.identity != FileIdentity::kSize) {
    was += ", changed " + UtcTime(file.mtime_ns);
    is += ", changed " + UtcTime(ChangedAt(now));
  }
  if (file.identity == FileIdentity::kTime && file.bytes == now.st_size) {
    advice =
        " (identity=\"content\" or \"size\" of the source is for files of which only the time "
        "changes)";
  }
  return Status(arrow::StatusCode::IOError,
                file.path + " is not the file any more that was listed: it had " + was +
                    ", now it has " + is +
                    "; put that file back and go on from the last saved state, or start anew "
                    "with the files as they are" +
                    advice,
                std::make_shared<FileChanged>());
}

class LocalFile : public arrow::io::RandomAccessFile {
 public:
  /// Takes `fd`. `mtime_ns`: the time of change that the file must keep while it is read.
  LocalFile(DataFile file, int fd, int64_t mtime_ns)
      : file_(std::move(file)), mtime_ns_(mtime_ns), fd_(fd) {
    set_mode(arrow::io::FileMode::READ);
  }
  ~LocalFile() override { CloseFile(); }

  Status Close() override {
    CloseFile();
    return Status::OK();
  }
  bool closed() const override { return fd_ < 0; }
  Result<int64_t> Tell() const override { return place_; }
  Result<int64_t> GetSize() override { return file_.bytes; }
  Status Seek(int64_t position) override {
    if (position < 0) return Status::Invalid("a place in a file cannot be negative: ", position);
    place_ = position;
    return Status::OK();
  }

  Result<int64_t> Read(int64_t size, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(place_, size, out));
    place_ += got;
    return got;
  }
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(place_, size));
    place_ += buffer->size();
    return buffer;
  }

  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    if (position < 0 || size < 0) {
      return Status::Invalid("there are no ", size, " bytes at byte ", position, " of a file");
    }
    int64_t got = 0;
    while (got < size) {
      int error = FaultAt(FaultKind::kRead, file_.path);
      ssize_t step = -1;
      if (error == 0) {
        step = pread(fd_, static_cast<char*>(out) + got, static_cast<size_t>(size - got),
                     position + got);
        if (step < 0) error = errno;
      }
      if (error == EINTR) continue;
      if (error != 0) {
        return arrow::internal::IOErrorFromErrno(error, "cannot read ", file_.path, " at byte ",
                                                 position + got);
      }
      if (step == 0) break;
      got += step;
    }
    ARROW_RETURN_NOT_OK(CheckUnchanged());
    return got;
  }

  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override {
    // A damaged length must not take memory for what the file does not have.
    const int64_t there =
        std::clamp<int64_t>(file_.bytes - position, 0, std::max<int64_t>(size, 0));
    if (FaultAt(FaultKind::kAllocate, file_.path) != 0) {
      return Status::OutOfMemory("no memory for ", there, " bytes of ", file_.path);
    }
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(there));
    ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position, there, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }

 private:
  /// What was just read may be of another file, or half of one and half of the other.
  Status CheckUnchanged() const {
    struct stat now;
    if (fstat(fd_, &now) != 0) {
      return arrow::internal::IOErrorFromErrno(errno, "cannot look at ", file_.path);
    }
    const bool same_time = file_.identity == FileIdentity::kSize || ChangedAt(now) == mtime_ns_;
    return now.st_size == file_.bytes && same_time ? Status::OK() : Changed(file_, now);
  }

  void CloseFile() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  const DataFile file_;
  const int64_t mtime_ns_;
  int fd_;
  int64_t place_ = 0;
};

struct OpenedFile {
  std::shared_ptr<LocalFile> file;
  struct stat info;
};

/// Opens a path, whatever it was when it was listed.
Result<OpenedFile> OpenNow(const DataFile& file) {
  OpenedFile out;
  // Looked at first: opening a device may already do something.
  if (stat(file.path.c_str(), &out.info) != 0) return CannotOpen(file.path, errno);
  ARROW_RETURN_NOT_OK(CheckRegular(file.path, out.info));
  int fd = -1;
  int error = EINTR;
  while (error == EINTR) {
    error = FaultAt(FaultKind::kOpen, file.path);
    if (error != 0) continue;
    fd = open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    error = fd < 0 ? errno : 0;
  }
  if (error != 0) return CannotOpen(file.path, error);
  const bool is_known = fstat(fd, &out.info) == 0;
  out.file = std::make_shared<LocalFile>(file, fd, is_known ? ChangedAt(out.info) : 0);
  if (!is_known) return CannotOpen(file.path, errno);
  ARROW_RETURN_NOT_OK(CheckRegular(file.path, out.info));
  return out;
}

Result<std::string> HashOf(LocalFile* file, int64_t bytes, const std::function<bool()>& stop) {
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
  return ToHex(hash);
}

}  // namespace

Result<FileIdentity> ParseFileIdentity(const std::string& name) {
  if (name == "mtime") return FileIdentity::kTime;
  if (name == "content") return FileIdentity::kContent;
  if (name == "size") return FileIdentity::kSize;
  return Status::Invalid("identity must be \"mtime\", \"content\" or \"size\", got \"", name, "\"");
}

Result<DataFile> LookAtFile(const std::string& path, FileIdentity identity,
                            const std::function<bool()>& stop) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return CannotOpen(path, errno);
  ARROW_RETURN_NOT_OK(CheckRegular(path, info));
  DataFile file{path, identity, info.st_size, ChangedAt(info), {}};
  if (identity != FileIdentity::kContent) return file;
  ARROW_ASSIGN_OR_RAISE(const OpenedFile opened, OpenNow(file));
  ARROW_ASSIGN_OR_RAISE(file.hash, HashOf(opened.file.get(), file.bytes, stop));
  return file;
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenLocalFile(const DataFile& file) {
  ARROW_ASSIGN_OR_RAISE(OpenedFile opened, OpenNow(file));
  const bool same_time = ChangedAt(opened.info) == file.mtime_ns;
  if (opened.info.st_size != file.bytes) return Changed(file, opened.info);
  if (file.identity == FileIdentity::kTime && !same_time) return Changed(file, opened.info);
  if (file.identity == FileIdentity::kContent && !same_time) {
    ARROW_ASSIGN_OR_RAISE(const std::string hash, HashOf(opened.file.get(), file.bytes, nullptr));
    if (hash != file.hash) return Changed(file, opened.info);
  }
  return opened.file;
}

bool IsFileError(const Status& status) {
  if (status.ok() || status.detail() == nullptr) return false;
  return std::strcmp(status.detail()->type_id(), kChangedId) == 0 ||
         arrow::internal::ErrnoFromStatus(status) != 0;
}

}  // namespace easydata
