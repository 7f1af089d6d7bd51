#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "easydata/base/status.h"

namespace easydata::files {

/// Locks of single bytes of a file (F_OFD_SETLK), by which processes agree: each byte, whether it
/// is there or not, stands for something. They end with this object or its process, however that
/// ends; a forked child has none of its parent's. Two objects of one process keep each other out,
/// too. Thread-safe.
class RangeLocks {
 public:
  /// Opens nothing yet; the file is made with the first lock.
  explicit RangeLocks(std::string path);
  ~RangeLocks();
  RangeLocks(const RangeLocks&) = delete;
  RangeLocks& operator=(const RangeLocks&) = delete;

  enum class Kind { kShared, kAlone };

  /// Locks a byte; false where another has it. An error where the file cannot be opened, or its
  /// file system has no such locks. What this object has locked already is OK.
  Result<bool> TryLock(int64_t offset, Kind kind = Kind::kAlone);
  void Unlock(int64_t offset);
  /// Whether another has locked a byte, in any way.
  Result<bool> IsLockedByOther(int64_t offset);

 private:
  friend class LockFiles;

  Result<int> Opened();

  const std::string path_;
  std::mutex mutex_;
  int fd_ = -1;
};

}  // namespace easydata::files
