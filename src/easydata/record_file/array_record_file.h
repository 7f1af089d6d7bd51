#pragma once

#include <arrow/io/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/record_file/file_windows.h"
#include "easydata/record_file/lone_record.h"
#include "easydata/record_file/riegeli_chunk.h"

namespace easydata::record_file {

/// The region of a chunk of records in a file.
struct RecordChunk {
  int64_t begin = 0;
  int64_t end = 0;  // at most: where the next one begins
  int64_t first_record = 0;
  int64_t num_records = 0;
};

/// An open ArrayRecord file: records by their number, each found by a look into a table. Every byte
/// that is read is checked by its hash. Thread-safe.
///
/// Transposed files are refused, when records are read.
class ArrayRecordFile {
 public:
  /// Reads the signature, the postscript and the footer. Invalid where any of them is damaged or
  /// the file is another thing; the error says what, and not which file.
  /// With `keeps`, what single records are read of stays in memory, as FileWindows tells: for those
  /// who ask for one record after the other.
  static Result<std::shared_ptr<const ArrayRecordFile>> Open(
      std::shared_ptr<arrow::io::RandomAccessFile> file, bool keeps = false);

  int64_t num_records() const { return num_records_; }
  int64_t num_chunks() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  /// As array_record's writer was told: "group_size:1,transpose:false,...".
  const std::string& writer_options() const { return writer_options_; }
  /// What our own writer said of the records' tokens (ArrayRecordOptions::vocabulary); "": nothing.
  const std::string& vocabulary() const { return vocabulary_; }

  RecordChunk chunk(int64_t k) const;
  /// The number of the chunk that has a record.
  int64_t ChunkOf(int64_t record) const;

  /// Reads the records of a chunk. Invalid where it is damaged: with its number, its offset, and
  /// which records it has. A file of another machine is read once more before that is said.
  Result<Records> ReadChunk(int64_t k) const;

  /// Reads chunks `begin` to `end` at once, and calls `each(k, records)` for each in order: one
  /// that is damaged has the error of ReadChunk().
  Status ReadChunks(int64_t begin, int64_t end,
                    const std::function<Status(int64_t, Result<Records>)>& each) const;

  /// Reads some records, in any order, and calls `each(index in the list, record)` for each, in the
  /// order of the file. What lies near together is read at once. IndexError for a number that no
  /// record has.
  Status Read(std::span<const int64_t> records,
              const std::function<Status(size_t, std::string_view)>& each) const;

  /// Reads one record; what is returned is in `scratch` or `held`, until they are used again.
  /// IndexError for a number that no record has.
  Result<std::string_view> ReadRecord(int64_t record, RecordScratch* scratch, Records* held) const;

  /// Begins to fetch chunks, where the file is on another machine.
  Status WillNeed(int64_t begin, int64_t end) const;

 private:
  explicit ArrayRecordFile(std::shared_ptr<arrow::io::RandomAccessFile> file)
      : file_(std::move(file)) {}

  Status ReadFooter();
  Status TakeFooter(const Records& footer, int64_t footer_offset);
  /// A record of a chunk whose bytes are known, as far as they are: else it is read by itself.
  Result<std::string_view> RecordOf(int64_t record, int64_t k, std::string_view bytes,
                                    RecordScratch* scratch, Records* held) const;
  /// The records of a chunk, whose bytes are known.
  Result<Records> Decode(int64_t k, const std::shared_ptr<arrow::Buffer>& bytes) const;
  /// The same of bytes that were read with others and begin at offset `at`.
  Result<Records> DecodeOrReadAgain(int64_t k, const std::shared_ptr<arrow::Buffer>& bytes,
                                    int64_t at) const;
  Status Damaged(int64_t k, const Status& how) const;

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::unique_ptr<const FileWindows> windows_;  // null: nothing is kept
  int64_t num_records_ = 0;
  std::string writer_options_;
  std::string vocabulary_;
  std::vector<int64_t> offsets_;  // of chunks, and of the footer
  // The first record of each chunk, and the number of all; empty where all chunks but the last have
  // `group_size_` records.
  std::vector<int64_t> firsts_;
  int64_t group_size_ = 1;
};

}  // namespace easydata::record_file
