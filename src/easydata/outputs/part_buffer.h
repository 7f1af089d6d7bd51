#pragma once

#include <cstdint>
#include <string>

#include "easydata/base/status.h"

namespace easydata::outputs {

/// Collects the bytes of a part that is to be sent: in memory, or in a file without a name in the
/// folder for temporary files, for those who write many objects at once. Thread-compatible.
class PartBuffer {
 public:
  explicit PartBuffer(bool in_file) : in_file_(in_file) {}
  ~PartBuffer();
  PartBuffer(const PartBuffer&) = delete;
  PartBuffer& operator=(const PartBuffer&) = delete;

  /// Adds bytes; `most` is how many there will be at most. An IOError names the folder that has no
  /// room.
  Status Append(const void* data, int64_t size, int64_t most);
  int64_t size() const { return size_; }
  /// All of it, and starts over.
  Result<std::string> Take();

 private:
  Status OpenFile();
  Status FolderError(int error) const;

  const bool in_file_;
  int64_t size_ = 0;
  std::string memory_;
  int fd_ = -1;
  std::string path_;  // of the folder
};

}  // namespace easydata::outputs
