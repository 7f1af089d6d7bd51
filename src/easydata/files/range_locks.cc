#include "easydata/files/range_locks.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "easydata/files/file_calls.h"

namespace easydata::files {

/// The open files of all RangeLocks. A forked child closes them at once: what it shares with its
/// parent would keep the locks of one that has ended.
class LockFiles {
 public:
  static LockFiles& OfProcess() {
    static LockFiles& files = *new LockFiles;
    return files;
  }

  void Add(RangeLocks* locks) {
    std::lock_guard<std::mutex> lock(mutex_);
    locks_.insert(locks);
  }
  void Remove(RangeLocks* locks) {
    std::lock_guard<std::mutex> lock(mutex_);
    locks_.erase(locks);
  }

 private:
  LockFiles() {
    pthread_atfork([] { OfProcess().mutex_.lock(); }, [] { OfProcess().mutex_.unlock(); },
                   [] {
                     for (RangeLocks* locks : OfProcess().locks_) {
                       if (locks->fd_ >= 0) ::close(locks->fd_);
                       locks->fd_ = -1;
                     }
                     OfProcess().mutex_.unlock();
                   });
  }

  std::mutex mutex_;
  std::set<RangeLocks*> locks_;
};

namespace {

struct flock ByteAt(int64_t offset, int16_t type) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = offset;
  range.l_len = 1;
  return range;
}

int Control(int fd, int command, struct flock* range) {
  for (;;) {
    if (::fcntl(fd, command, range) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

}  // namespace

RangeLocks::RangeLocks(std::string path) : path_(std::move(path)) {
  LockFiles::OfProcess().Add(this);
}

RangeLocks::~RangeLocks() {
  LockFiles::OfProcess().Remove(this);
  if (fd_ >= 0) ::close(fd_);
}

Result<int> RangeLocks::Opened() {
  if (fd_ < 0) {
    ARROW_ASSIGN_OR_RAISE(fd_, OpenPath(path_, O_RDWR | O_CREAT | O_NOFOLLOW));
  }
  return fd_;
}

Result<bool> RangeLocks::TryLock(int64_t offset, Kind kind) {
  std::lock_guard<std::mutex> lock(mutex_);
  ARROW_ASSIGN_OR_RAISE(const int fd, Opened());
  struct flock range = ByteAt(offset, kind == Kind::kAlone ? F_WRLCK : F_RDLCK);
  const int error = Control(fd, F_OFD_SETLK, &range);
  if (error == EAGAIN || error == EACCES) return false;
  if (error != 0) return PathError("lock", path_, error);
  return true;
}

void RangeLocks::Unlock(int64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (fd_ < 0) return;
  struct flock range = ByteAt(offset, F_UNLCK);
  (void)Control(fd_, F_OFD_SETLK, &range);
}

Result<bool> RangeLocks::IsLockedByOther(int64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  ARROW_ASSIGN_OR_RAISE(const int fd, Opened());
  struct flock range = ByteAt(offset, F_WRLCK);
  const int error = Control(fd, F_OFD_GETLK, &range);
  if (error != 0) return PathError("lock", path_, error);
  return range.l_type != F_UNLCK;
}

}  // namespace easydata::files
