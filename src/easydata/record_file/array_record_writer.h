#pragma once

#include <arrow/io/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/record_file/array_record_layout.h"
#include "easydata/record_file/riegeli_chunk.h"

namespace easydata::record_file {

/// How an ArrayRecord file is written.
struct ArrayRecordOptions {
  /// Records of a chunk: those that are read together.
  int64_t group_size = 1;
  /// "zstd", "brotli", "snappy" or "uncompressed".
  std::string codec = "zstd";
  /// Of zstd 1 to 22 or negative, of brotli 0 to 11; unset: those of array_record, 3 and 6.
  std::optional<int> level;
  /// Whether each chunk begins a block.
  bool pad_to_block_boundary = false;
  /// What the footer says of the records' tokens, beside what array_record writes; "": nothing. Its
  /// readers pass it over.
  std::string vocabulary = {};

  /// Reads what array_record's writer takes: "group_size:16,zstd:9". Invalid for options that are
  /// not known, and for those that would change how files are read here ("transpose:true").
  static Result<ArrayRecordOptions> Parse(std::string_view text);

  /// What the footer says: all options, as array_record writes them.
  std::string ToString() const;

  /// Null where nothing is compressed.
  Result<ChunkCodec> MakeCodec() const;
};

/// A chunk of records, ready to be written.
struct EncodedRecords {
  std::string data;
  int64_t num_records = 0;
  int64_t decoded_size = 0;  // bytes
};

/// Puts records together into chunks of the group size. Thread-compatible.
class GroupEncoder {
 public:
  GroupEncoder(int64_t group_size, ChunkCodec codec)
      : group_size_(group_size), codec_(std::move(codec)) {}

  /// Adds a record; the chunk of its group, where it is the last of it.
  Result<std::optional<EncodedRecords>> Add(std::string_view record);
  /// The chunk of what is left, if there is anything.
  Result<std::optional<EncodedRecords>> Finish();

 private:
  Result<EncodedRecords> Encode(std::string_view values);

  const int64_t group_size_;
  const ChunkCodec codec_;
  std::string values_;         // of the group that is being collected
  std::vector<int64_t> ends_;  // of its records
};

/// Writes records as an ArrayRecord file, byte for byte as array_record's writer where the codec
/// gives the same bytes. Thread-compatible.
class ArrayRecordWriter {
 public:
  /// Writes the signature. `out` is at its begin.
  static Result<std::unique_ptr<ArrayRecordWriter>> Make(
      std::shared_ptr<arrow::io::OutputStream> out, const ArrayRecordOptions& options);

  Status Write(std::string_view record);
  /// Writes a chunk that was encoded elsewhere, behind all records before it.
  Status Write(const EncodedRecords& chunk);
  /// Writes what is left, footer and postscript; `out` is not closed.
  Status Finish();

  int64_t num_records() const { return num_records_; }

 private:
  ArrayRecordWriter(std::shared_ptr<arrow::io::OutputStream> out, ArrayRecordOptions options,
                    ChunkCodec codec)
      : out_(std::move(out)),
        options_(std::move(options)),
        codec_(codec),
        group_(options_.group_size, std::move(codec)) {}

  Status WriteGroup();
  Status WriteEncoded(const EncodedRecords& chunk);
  Status WriteChunk(ChunkType type, std::string_view data, int64_t num_records,
                    int64_t decoded_data_size);
  /// Writes a chunk of zeros up to the begin of a block.
  Status Pad();

  const std::shared_ptr<arrow::io::OutputStream> out_;
  const ArrayRecordOptions options_;
  const ChunkCodec codec_;
  GroupEncoder group_;
  std::vector<FooterEntry> entries_;
  int64_t offset_ = 0;
  int64_t num_records_ = 0;
};

}  // namespace easydata::record_file
