#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>

#include "easydata/base/status.h"

namespace easydata::files {

/// A file of lines that several streams and processes add to: each line stands in it once, however
/// often it is added, in earlier runs too. For one thread.
class DistinctLines {
 public:
  explicit DistinctLines(std::string path) : path_(std::move(path)) {}

  /// Adds a line, given without its line feed, to the end of the file unless the file has it; the
  /// file is made where there is none.
  Status Add(const std::string& line);

 private:
  /// Learns what was added since the last call.
  Status ReadOn(int fd);

  const std::string path_;
  std::unordered_set<uint64_t> known_;  // hashes of lines
  ino_t file_ = 0;
  int64_t read_ = 0;  // bytes of the file, all of them known
  std::string open_;  // a last line without its end, as a process that was killed leaves it
};

}  // namespace easydata::files
