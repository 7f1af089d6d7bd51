#pragma once

#include <arrow/io/interfaces.h>

#include <cstdint>
#include <memory>

#include "easydata/base/status.h"

namespace easydata::files {

/// Announces the reads of one who goes through a file from somewhere to its end: in ranges of 8 MB,
/// some of them ahead. The first ones are smaller, and fewer are ahead of them, so that the first
/// bytes are soon there. Files of this machine take no notice. Thread-compatible.
class SequentialReads {
 public:
  /// Bytes of a range after the chunks of lines in it: mostly the end of the last line.
  static constexpr int64_t kLineEnd = 64 << 10;
  /// The first range: a chunk of lines, and the end of its last line.
  static constexpr int64_t kFirstBytes = (int64_t{1} << 20) + kLineEnd;

  SequentialReads(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size);

  /// Says that reading got to `position`.
  Status At(int64_t position);

 private:
  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const int64_t size_;
  int64_t begin_ = -1;
  int64_t announced_ = 0;  // up to this byte
  int64_t step_ = 0;
};

}  // namespace easydata::files
