#include "easydata/sink/output_file.h"

#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace easydata {

struct OutputFile::Hasher {
  XXH3_state_t state;
};

Status PathError(const std::string& what, const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return Status::IOError("cannot ", what, " ", path, ": ", std::strerror(error), "; ",
                         full ? "make room there, or " : "",
                         "choose an output path that can be written")
      .WithDetail(arrow::internal::StatusDetailFromErrno(error));
}

OutputFile::OutputFile(int fd, std::string path)
    : fd_(fd), path_(std::move(path)), hasher_(std::make_unique<Hasher>()) {
  XXH3_64bits_reset(&hasher_->state);
  set_mode(arrow::io::FileMode::WRITE);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::shared_ptr<OutputFile>> OutputFile::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return PathError("write", path, errno);
  return std::shared_ptr<OutputFile>(new OutputFile(fd, path));
}

Status OutputFile::Write(const void* data, int64_t size) {
  const char* bytes = static_cast<const char*>(data);
  XXH3_64bits_update(&hasher_->state, bytes, static_cast<size_t>(size));
  while (size > 0) {
    const ssize_t written =
        ::write(fd_, bytes, static_cast<size_t>(std::min<int64_t>(size, 1 << 30)));
    if (written < 0) {
      if (errno == EINTR) continue;
      return PathError("write", path_, errno);
    }
    bytes += written;
    size -= written;
    size_ += written;
  }
  return Status::OK();
}

Status OutputFile::Close() {
  if (fd_ < 0) return Status::OK();
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) return PathError("write", path_, errno);
  return Status::OK();
}

uint64_t OutputFile::hash() const { return XXH3_64bits_digest(&hasher_->state); }

Status WriteFileAtomically(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".tmp";
  ARROW_ASSIGN_OR_RAISE(auto file, OutputFile::Open(temporary));
  Status status = file->Write(content.data(), static_cast<int64_t>(content.size()));
  if (status.ok()) status = file->Close();
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = PathError("rename to", path, errno);
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace easydata
