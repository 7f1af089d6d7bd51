#pragma once

#include <arrow/io/type_fwd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::record_file {

/// Parts of a file of this machine that are kept in memory once a record of them was read: asking
/// the system for a record takes longer than all else. Thread-safe.
///
/// A process keeps up to `kMostOfProcess` bytes of files that are no larger than that; of others
/// nothing is kept.
class FileWindows {
 public:
  static constexpr int64_t kMostOfProcess = int64_t{256} << 20;

  /// `file` must outlive this.
  FileWindows(arrow::io::RandomAccessFile* file, int64_t size);
  ~FileWindows();
  FileWindows(const FileWindows&) = delete;
  FileWindows& operator=(const FileWindows&) = delete;

  /// Bytes `begin` to `end` of the file, which stay where they are; empty where they are not kept.
  Result<std::string_view> View(int64_t begin, int64_t end) const;

 private:
  /// Reads a window; null where there is no room for it.
  Result<const char*> Load(size_t window) const;
  int64_t BytesOf(size_t window) const;

  arrow::io::RandomAccessFile* const file_;
  const int64_t size_;
  mutable std::vector<std::atomic<const char*>> windows_;
};

}  // namespace easydata::record_file
