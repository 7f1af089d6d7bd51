#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/util/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/files/codec.h"
#include "easydata/files/compression.h"
#include "easydata/files/text_encoding.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/shard_reader.h"
#include "easydata/source/source.h"

namespace easydata::source {

/// Whole records of a text format whose records do not end at every line end (CSV, JSON documents),
/// about a chunk of them; finding their ends is serial, the rest is done in parallel.
struct RecordPiece {
  struct Record {
    int64_t begin;
    int64_t size;
  };
  std::vector<char> text;  // kChunkPadding bytes longer than `size`
  int64_t size = 0;
  int64_t blank_lines = 0;  // passed over before `text`
  /// Whether a "\r" without a "\n" after it ends a line, too.
  bool ends_lines_at_returns = false;
  std::vector<Record> records;
  /// Offset of the piece's end in the (decompressed) file; kNoMorePieces at its end, where known.
  int64_t end = 0;
  int64_t file_bytes = -1;      // BlockTask's
  Status broken;                // why there is nothing after this piece
  bool breaks_at_line = false;  // `broken` is about the line after it

  std::string_view Text(const Record& record) const {
    return {text.data() + record.begin, static_cast<size_t>(record.size)};
  }
  /// Lines from the end of the piece before.
  int64_t num_lines() const;
};

/// Finds the line on which a record begins; scans a piece once for any number of records.
class RecordLines {
 public:
  explicit RecordLines(const RecordPiece& piece) : piece_(piece), lines_(piece.blank_lines) {}
  /// Lines before byte `offset` of the text, which is not before the last one, counted from the end
  /// of the piece before.
  int64_t Before(int64_t offset);

 private:
  const RecordPiece& piece_;
  int64_t lines_;
  int64_t offset_ = 0;
};

/// A moving window on a text file; its text stays in place until Consume().
class TextWindow {
 public:
  /// Opens a window on a file from byte `at` of its content on, decompressed and in UTF-8;
  /// `is_look`: only its first rows will be read.
  static Result<std::unique_ptr<TextWindow>> Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                  const files::Codec& codec, int64_t at,
                                                  bool is_look,
                                                  const files::TextEncoding& encoding = {});

  /// What is read and not consumed.
  std::string_view text() const { return {buffer_.data(), static_cast<size_t>(used_)}; }
  /// Reads more at its end; false at the file's end. Where the file breaks, the error stays in
  /// broken().
  bool Grow();
  /// Whether there is a byte at offset `i` of the text; reads more where it must.
  bool Has(int64_t i);
  /// The first "\n" from offset `i` on, or the end of what is read. Remembered up to Consume(): a
  /// file whose lines end in "\r" has none, and is not gone through for each of them.
  int64_t Newline(int64_t i);
  void Consume(int64_t bytes);
  /// Offset of text()'s begin.
  int64_t at() const { return at_; }
  const Status& broken() const { return broken_; }
  int64_t bytes_read() const { return bytes_read_; }
  /// Bytes of the file itself up to the text's begin; of a compressed one, up to what is read.
  int64_t file_bytes() const { return encoded_ == nullptr ? at_ : files::FilePosition(*encoded_); }

 private:
  std::shared_ptr<arrow::io::InputStream> stream_;
  std::shared_ptr<arrow::io::InputStream> encoded_;  // of which it is made; null: it is the file
  std::vector<char> buffer_;
  int64_t used_ = 0;
  int64_t at_ = 0;
  int64_t bytes_read_ = 0;
  int64_t newline_ = -1;  // what Newline() found last
  int64_t searched_ = 0;  // there is none between what it was asked for and this offset
  bool ended_ = false;
  Status broken_;
};

/// Finds the records of one file.
class RecordCutter {
 public:
  virtual ~RecordCutter() = default;
  /// The next piece, or false at the end.
  virtual Result<bool> Next(RecordPiece* piece) = 0;
  /// Bytes of the (decompressed) file that were read for the pieces up to here.
  virtual int64_t bytes_read() const = 0;
};

class RecordDecoder {
 public:
  virtual ~RecordDecoder() = default;
  /// Rows of the first `records` records of a piece, the first `skip` passed over. Thread-safe.
  virtual Result<DecodedBlock> DecodeFirst(int64_t records, const RecordPiece& piece,
                                           int64_t skip) const = 0;

 protected:
  /// The rows of the first `records` records, then the error of the next one, which there was no
  /// memory for.
  Result<DecodedBlock> RecordsBefore(int64_t records, const RecordPiece& piece, int64_t skip,
                                     const Status& error) const;
};

/// Moves text from the window's begin into the piece, up to `size` bytes.
void TakePiece(TextWindow* window, int64_t size, RecordPiece* piece);

/// Cuts the next piece of about a chunk: `end_of(i, &end)` gives the begin of the record after the
/// one at offset `i` of the window, and where that one ends, or -1 at the file's end; empty records
/// are none. False where there is nothing left, and `*ended` at the end.
template <typename EndOf>
bool CutPiece(TextWindow* window, RecordPiece* piece, bool* ended, EndOf end_of) {
  if (*ended) return false;
  piece->ends_lines_at_returns = true;
  int64_t i = 0;
  while (i < kChunkBytes) {
    int64_t end = 0;
    const int64_t next = end_of(i, &end);
    if (next < 0) {
      // A cutter may know more of it.
      if (piece->broken.ok()) piece->broken = window->broken();
      *ended = true;
      break;
    }
    if (end > i) piece->records.push_back({i, end - i});
    i = next;
  }
  if (*ended && piece->broken.ok() && piece->records.empty()) return false;
  TakePiece(window, i, piece);
  return true;
}

/// Makes a reader over a cutter that `open` makes for an offset in the file (0: its begin). `first`
/// is the line and offset at which rows begin.
std::unique_ptr<ShardReader> MakeRecordReader(
    std::function<Result<std::unique_ptr<RecordCutter>>(int64_t at)> open,
    std::shared_ptr<const RecordDecoder> decoder, const ShardPosition& from, int64_t first_line,
    const ReadContext& context);

/// Counts the rows that a cutter finds.
Result<int64_t> CountRecords(RecordCutter* cutter);

}  // namespace easydata::source
