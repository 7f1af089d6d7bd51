#include "easydata/outputs/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "easydata/base/hash.h"
#include "easydata/files/file_calls.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace easydata::outputs {

struct OutputFile::Hasher {
  XXH3_state_t state;
};

OutputFile::OutputFile() : hasher_(std::make_unique<Hasher>()) {
  XXH3_64bits_reset(&hasher_->state);
  set_mode(arrow::io::FileMode::WRITE);
}

OutputFile::~OutputFile() = default;

Status OutputFile::Write(const void* data, int64_t size) {
  ARROW_RETURN_NOT_OK(Store(data, size));
  if (hasher_ != nullptr) {
    XXH3_64bits_update(&hasher_->state, data, static_cast<size_t>(size));
  }
  size_ += size;
  return Status::OK();
}

std::string OutputFile::hash() const {
  return hasher_ == nullptr ? "" : ToHex(XXH3_64bits_digest(&hasher_->state));
}

void OutputFile::SkipHash() { hasher_ = nullptr; }

Result<std::string> HashOfFile(const std::string& path, const std::function<bool()>& stopped) {
  ARROW_ASSIGN_OR_RAISE(const int fd, files::OpenPath(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  const auto close = std::shared_ptr<void>(nullptr, [fd](void*) { ::close(fd); });
  std::vector<char> chunk(1 << 20);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (;;) {
    if (stopped()) return Status::Cancelled("writing was cancelled");
    ARROW_ASSIGN_OR_RAISE(const int64_t size,
                          files::ReadSome(fd, chunk.data(), chunk.size(), path));
    if (size == 0) return ToHex(XXH3_64bits_digest(&state));
    XXH3_64bits_update(&state, chunk.data(), static_cast<size_t>(size));
  }
}

Result<std::string> HashOfOpenFile(arrow::io::RandomAccessFile* file, int64_t size,
                                   const std::function<bool()>& stopped) {
  constexpr int64_t kPiece = int64_t{8} << 20;
  std::vector<char> piece(static_cast<size_t>(std::min(size, kPiece)));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (int64_t at = 0; at < size;) {
    if (stopped()) return Status::Cancelled("writing was cancelled");
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          file->ReadAt(at, std::min(size - at, kPiece), piece.data()));
    if (got == 0) return Status::IOError("a file of ", size, " bytes ends after ", at);
    XXH3_64bits_update(&state, piece.data(), static_cast<size_t>(got));
    at += got;
  }
  return ToHex(XXH3_64bits_digest(&state));
}

}  // namespace easydata::outputs
