#include "easydata/io/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include <vector>

#include "easydata/base/hash.h"
#include "easydata/io/file_calls.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace easydata::io {

struct OutputFile::Hasher {
  XXH3_state_t state;
};

OutputFile::OutputFile(int fd, std::string path)
    : fd_(fd), path_(std::move(path)), hasher_(std::make_unique<Hasher>()) {
  XXH3_64bits_reset(&hasher_->state);
  set_mode(arrow::io::FileMode::WRITE);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::shared_ptr<OutputFile>> OutputFile::Open(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW));
  return std::shared_ptr<OutputFile>(new OutputFile(fd, path));
}

Status OutputFile::Write(const void* data, int64_t size) {
  ARROW_RETURN_NOT_OK(WriteAll(fd_, data, size, path_));
  XXH3_64bits_update(&hasher_->state, data, static_cast<size_t>(size));
  size_ += size;
  return Status::OK();
}

Status OutputFile::Close() {
  if (fd_ < 0) return Status::OK();
  const int fd = std::exchange(fd_, -1);
  const Status synced = SyncFile(fd, path_);
  const Status closed = CloseFile(fd, path_);
  return synced.ok() ? closed : synced;
}

std::string OutputFile::hash() const { return ToHex(XXH3_64bits_digest(&hasher_->state)); }

Result<std::string> HashOfFile(const std::string& path, const std::function<bool()>& stopped) {
  ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  const auto close = std::shared_ptr<void>(nullptr, [fd](void*) { ::close(fd); });
  std::vector<char> chunk(1 << 20);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (;;) {
    if (stopped()) return Status::Cancelled("writing was cancelled");
    ARROW_ASSIGN_OR_RAISE(const int64_t size, ReadSome(fd, chunk.data(), chunk.size(), path));
    if (size == 0) return ToHex(XXH3_64bits_digest(&state));
    XXH3_64bits_update(&state, chunk.data(), static_cast<size_t>(size));
  }
}

}  // namespace easydata::io
