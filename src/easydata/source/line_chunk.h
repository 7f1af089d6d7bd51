#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::source {

/// Text is read on a fixed grid: chunk k holds the lines that start in the k-th kChunkBytes bytes
/// of the (decompressed) file. A chunk may be empty, where a line is longer than a chunk.
inline constexpr int64_t kChunkBytes = 1 << 20;

/// Bytes that may be read past a chunk's end, so that vectorised parsers need no copy.
inline constexpr int64_t kChunkPadding = 64;

/// Memory for one chunk; grows as it must, and does not keep what a giant line took.
class ChunkBuffer {
 public:
  char* data() { return data_.get(); }
  /// Keeps the memory of another that a chunk lies in.
  void Hold(std::shared_ptr<arrow::Buffer> held) { held_ = std::move(held); }
  /// Makes room for `size` bytes and the padding; keeps the content, also where there is no memory
  /// for more.
  Status Reserve(int64_t size);

 private:
  std::unique_ptr<char[]> data_;
  int64_t capacity_ = 0;
  int64_t kept_ = 0;
  std::shared_ptr<arrow::Buffer> held_;

 public:
  /// Bytes in use, to be kept when it grows.
  void set_size(int64_t size) { kept_ = size; }
  /// Lets go of what is another's, and of what a giant line took.
  void Release();
};

/// The longest line, and the longest record of other text: offsets into columns have 32 bits.
inline constexpr int64_t kMaxLineBytes = (int64_t{1} << 31) - (1 << 16);

/// Reads chunk `k` of a file that is not compressed; safe to call from many threads with a buffer
/// each. The view is into `buffer`, or into what was fetched of the file already, which `buffer`
/// holds then. `bytes_read` grows by what was read from the file. Where the end of the last line
/// cannot be read, or is too far, `broken` says why, and the view has the lines before it.
Result<std::string_view> ReadLineChunk(arrow::io::RandomAccessFile* file, int64_t file_size,
                                       int64_t k, ChunkBuffer* buffer, int64_t* bytes_read,
                                       Status* broken);

/// Cuts a stream of text into the same chunks, one after the other.
class LineCutter {
 public:
  explicit LineCutter(std::shared_ptr<arrow::io::InputStream> stream)
      : stream_(std::move(stream)) {}

  /// Copies the next chunk, with its padding, into `out`; false at the end. Where the stream
  /// breaks, or a line is too long or larger than memory, the whole lines before come first and the
  /// error with the next call.
  Result<bool> Next(std::vector<char>* out, int64_t* size);

 private:
  Status Fill(int64_t size);

  std::shared_ptr<arrow::io::InputStream> stream_;
  std::vector<char> buffer_;
  int64_t used_ = 0;  // bytes of buffer_ that hold text
  int64_t base_ = 0;  // offset of buffer_[0] in the text: a line's start
  int64_t next_ = 0;  // number of the next chunk
  bool ended_ = false;
  Status broken_;
};

struct LineCount {
  int64_t rows = 0;
  int64_t lines = 0;
};

/// Counts lines, and rows: lines without the blank ones where `skip_blank`. Parses nothing.
LineCount CountLines(std::string_view text, bool skip_blank);

/// Whether a line holds nothing but white space.
bool IsBlank(std::string_view line);

/// Calls `each(line)` for the lines of a chunk, without their "\n", until it returns false.
template <typename Each>
void ForEachLine(std::string_view text, Each each) {
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) end = text.size();
    if (!each(text.substr(begin, end - begin))) return;
    begin = end + 1;
  }
}

/// Row and line number at which each chunk of a file begins, as far as known. Thread-safe.
class LineIndex {
 public:
  struct Entry {
    int64_t row;
    int64_t line;
  };
  LineIndex() : entries_{{0, 0}} {}
  /// Notes where chunk `k` begins, unless that would leave a gap.
  void Note(int64_t k, const Entry& entry);
  int64_t size() const;
  Entry At(int64_t k) const;
  /// The last chunk known to begin at or before row `row`.
  int64_t Find(int64_t row) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace easydata::source
