#include "easydata/files/settings_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "easydata/files/file_calls.h"

namespace easydata::files {
namespace {

constexpr size_t kMostSettings = 4 << 20;  // bytes

Result<std::string> ReadOpened(int fd, const std::string& path) {
  struct stat found = {};
  if (::fstat(fd, &found) == 0 && !S_ISREG(found.st_mode)) {
    return Status::IOError(path, " is not a regular file, and nothing else is read there");
  }
  std::string content;
  std::array<char, 16 << 10> chunk;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, ReadSome(fd, chunk.data(), chunk.size(), path));
    if (size == 0) return content;
    content.append(chunk.data(), static_cast<size_t>(size));
    if (content.size() > kMostSettings) return PathError("read", path, EFBIG);
  }
}

}  // namespace

Result<std::optional<std::string>> ReadSettings(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) {
    // Without permission: those who run as a user without a home have another one's as HOME.
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return std::nullopt;
    return PathError("read", path, errno);
  }
  // A FIFO is not waited for.
  ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path, O_RDONLY | O_NONBLOCK));
  auto content = ReadOpened(fd, path);
  ::close(fd);
  ARROW_RETURN_NOT_OK(content.status());
  return std::optional<std::string>(std::move(*content));
}

}  // namespace easydata::files
