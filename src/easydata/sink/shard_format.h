#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::sink {

/// A row group, ready to be copied into a file: made by many threads, appended by one.
struct EncodedGroup {
  int64_t rows = 0;
  int64_t tokens = 0;
  /// The encoded bytes; where the format has its own container, `details` says what is in them.
  std::shared_ptr<arrow::Buffer> bytes;
  std::shared_ptr<const void> details;
};

/// One shard that is being written.
class ShardEncoder {
 public:
  virtual ~ShardEncoder() = default;
  virtual Status Append(const EncodedGroup& group) = 0;
  /// Writes what the format puts after the rows; the stream stays open.
  virtual Status Finish() = 0;
  /// True when the format allows no further group in this file.
  virtual bool full() const { return false; }
};

/// A file format: encodes row groups in parallel and joins them in order.
///
/// The bytes are a function of the rows and where the groups are cut, never of threads or time.
class ShardFormat {
 public:
  virtual ~ShardFormat() = default;

  /// Encodes consecutive rows into one group. Thread-safe.
  virtual Result<EncodedGroup> Encode(
      const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const = 0;

  virtual Result<std::unique_ptr<ShardEncoder>> Open(
      std::shared_ptr<arrow::io::OutputStream> stream) const = 0;
};

/// Row groups with columns without a dictionary; token columns without statistics. `compression`:
/// "" (zstd), "none", "snappy", "gzip", "lz4" or "zstd".
Result<std::unique_ptr<ShardFormat>> MakeParquetFormat(std::shared_ptr<arrow::Schema> schema,
                                                       const std::string& compression);

/// Arrow IPC files, a record batch a group. `compression`: "" (none), "none", "lz4" or "zstd".
Result<std::unique_ptr<ShardFormat>> MakeArrowFormat(std::shared_ptr<arrow::Schema> schema,
                                                     const std::string& compression);

/// One JSON object a line, UTF-8; lists as JSON lists; columns of JSON text (json_column.h) as they
/// are. Each group is a member of its own in a compressed file. `compression`: "" (none), "none",
/// "gzip", "lz4" or "zstd".
Result<std::unique_ptr<ShardFormat>> MakeJsonlFormat(std::shared_ptr<arrow::Schema> schema,
                                                     const std::string& compression);

/// What a record of an ArrayRecord file is, and how records are put together.
struct RecordOptions {
  /// "json": the row as a JSON object; "": the value of the only column.
  std::string encode;
  /// Those of record_file::ArrayRecordOptions::Parse(), in place of a compression; "": a chunk for
  /// each record, so that any is found at once.
  std::string writer_options;
};

constexpr std::string_view kArrayRecord = "array_record";

/// Records of a chunk; Invalid where the writer options are wrong.
Result<int64_t> GroupSizeOf(const RecordOptions& records);

/// ArrayRecord files. A column is of text, of bytes, or of lists of int32, which are written
/// little-endian; Invalid for others, and where there are several, with their names. `compression`:
/// "" (zstd), "none", "snappy", "brotli" or "zstd".
Result<std::unique_ptr<ShardFormat>> MakeArrayRecordFormat(std::shared_ptr<arrow::Schema> schema,
                                                           const std::string& compression,
                                                           const RecordOptions& records);

/// The names of the formats: parquet, arrow, jsonl, array_record.
const std::vector<std::string>& FormatNames();
/// The codecs of a format, "none" among them; nothing where there is no such format.
const std::vector<std::string>& CompressionsOf(const std::string& format);
/// The codecs of all formats.
std::vector<std::string> CompressionNames();

/// Makes the format called `name`; Invalid where there is no such format or it lacks the
/// compression, naming those that there are. `records` are for ArrayRecord files.
Result<std::unique_ptr<ShardFormat>> MakeShardFormat(const std::string& name,
                                                     std::shared_ptr<arrow::Schema> schema,
                                                     const std::string& compression,
                                                     const RecordOptions& records = {});

/// The extension of a format's shards: ".parquet", ".jsonl.gz", ….
Result<std::string> ShardExtension(const std::string& format, const std::string& compression);

}  // namespace easydata::sink
