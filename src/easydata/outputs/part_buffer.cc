#include "easydata/outputs/part_buffer.h"

#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "easydata/exec/environment.h"
#include "easydata/files/file_calls.h"

namespace easydata::outputs {

PartBuffer::~PartBuffer() {
  if (fd_ >= 0) ::close(fd_);
}

Status PartBuffer::FolderError(int error) const {
  return arrow::internal::IOErrorFromErrno(
      error, "cannot keep what is to be sent in ", path_,
      "; make room there, or name another folder by TMPDIR, or write fewer shards at once");
}

Status PartBuffer::OpenFile() {
  path_ = exec::EnvironmentValue("TMPDIR").value_or("/tmp");
  std::string name = path_ + "/easydata-part-XXXXXX";
  fd_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) return FolderError(errno);
  ::unlink(name.c_str());
  return Status::OK();
}

Status PartBuffer::Append(const void* data, int64_t size, int64_t most) {
  if (in_file_) {
    if (fd_ < 0) ARROW_RETURN_NOT_OK(OpenFile());
    const Status written = files::WriteAll(fd_, data, size, path_);
    if (!written.ok()) return FolderError(arrow::internal::ErrnoFromStatus(written));
  } else {
    // Grown by doubling, it would take up to twice its size.
    const size_t needed = memory_.size() + static_cast<size_t>(size);
    if (needed > memory_.capacity()) {
      memory_.reserve(
          std::max(needed, std::min(2 * memory_.capacity(), static_cast<size_t>(most))));
    }
    memory_.append(static_cast<const char*>(data), static_cast<size_t>(size));
  }
  size_ += size;
  return Status::OK();
}

Result<std::string> PartBuffer::Take() {
  const int64_t size = std::exchange(size_, 0);
  if (!in_file_ || fd_ < 0) return std::exchange(memory_, {});
  std::string content(static_cast<size_t>(size), '\0');
  if (::lseek(fd_, 0, SEEK_SET) < 0) return FolderError(errno);
  for (int64_t at = 0; at < size;) {
    ARROW_ASSIGN_OR_RAISE(
        const int64_t got,
        files::ReadSome(fd_, content.data() + at, static_cast<size_t>(size - at), path_));
    if (got == 0) return Status::IOError("a temporary file in ", path_, " was cut");
    at += got;
  }
  if (::ftruncate(fd_, 0) < 0 || ::lseek(fd_, 0, SEEK_SET) < 0) {
    return FolderError(errno);
  }
  return content;
}

}  // namespace easydata::outputs
