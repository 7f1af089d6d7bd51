#include "easydata/files/distinct_lines.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "easydata/base/hash.h"
#include "easydata/files/file_calls.h"

namespace easydata::files {

Status DistinctLines::ReadOn(int fd) {
  struct stat now;
  if (::fstat(fd, &now) != 0) return PathError("read", path_, errno);
  if (!S_ISREG(now.st_mode)) return Status::OK();  // a pipe forgets what was written
  if (now.st_ino != file_ || now.st_size < read_) {
    known_.clear();
    open_.clear();
    read_ = 0;
    file_ = now.st_ino;
  }
  if (::lseek(fd, read_, SEEK_SET) < 0) return PathError("read", path_, errno);
  std::string buffer(64 << 10, '\0');
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, ReadSome(fd, buffer.data(), buffer.size(), path_));
    if (size == 0) return Status::OK();
    read_ += size;
    std::string_view rest(buffer.data(), static_cast<size_t>(size));
    for (size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
      open_ += rest.substr(0, end);
      known_.insert(Hash64(open_));
      open_.clear();
      rest.remove_prefix(end + 1);
    }
    open_ += rest;
  }
}

Status DistinctLines::Add(const std::string& line) {
  // Opened for each line: such lines are rare, and the file may be moved away at any time.
  ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path_, O_RDWR | O_CREAT | O_APPEND));
  // Closing gives up the lock; a file system without locks has them of one process alone.
  const auto closed = std::shared_ptr<void>(nullptr, [fd](void*) { ::close(fd); });
  while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
  }
  ARROW_RETURN_NOT_OK(ReadOn(fd));
  if (known_.contains(Hash64(line))) return Status::OK();
  const std::string text = (open_.empty() ? "" : "\n") + line + "\n";
  return WriteAll(fd, text.data(), static_cast<int64_t>(text.size()), path_);
}

}  // namespace easydata::files
