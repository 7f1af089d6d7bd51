#pragma once

#include <arrow/type_fwd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/sink/shard_format.h"

/// Lists the formats of shards in the order of the docs: FORMAT(Id) for each.
///
/// It is the only list of them. It gives the choices of WriteOptions::format and the declaration of
/// kIdOutput, which the format's own file defines.
#define EASYDATA_OUTPUT_FORMATS(FORMAT) \
  FORMAT(Parquet)                       \
  FORMAT(Arrow)                         \
  FORMAT(Jsonl)                         \
  FORMAT(ArrayRecord)

namespace easydata::sink {

/// What a record of an ArrayRecord file is, and how records are put together.
struct RecordOptions {
  /// "json": the row as a JSON object; "": the value of the only column.
  std::string encode;
  /// Those of record_file::ArrayRecordOptions::Parse(), in place of a compression; "": a chunk for
  /// each record, so that any is found at once.
  std::string writer_options;
};

/// Records of a chunk; Invalid where the writer options are wrong.
Result<int64_t> GroupSizeOf(const RecordOptions& records);

/// A codec of a format.
struct OutputCodec {
  std::string_view name;
  /// What is added to the name of a shard; empty where the file itself says how it is compressed.
  std::string_view suffix{};
};

/// A format of shards: one row of the registry.
struct OutputFormat {
  /// Its name for users: WriteOptions::format.
  std::string_view name;
  /// What names of its shards end in, before the codec's suffix.
  std::string_view extension;
  /// Its codecs, "none" among them.
  std::array<OutputCodec, 6> codecs{};
  /// Those of WriteOptions that some formats alone take: "encode", "writer_options".
  std::array<std::string_view, 2> options{};
  /// What a record is, for formats that do not say so themselves: how RecordDecoding names it.
  std::string_view (*records)(const arrow::Schema& schema, const RecordOptions& records) = nullptr;
  /// Whether a row becomes a JSON object, in which columns of JSON text stay as they are.
  bool (*writes_json)(const RecordOptions& records) = [](const RecordOptions&) { return false; };
  /// Rows that are encoded together: a row group has a multiple of so many.
  Result<int64_t> (*rows_together)(const RecordOptions& records) =
      [](const RecordOptions&) -> Result<int64_t> { return 1; };
  /// Makes it for rows of a schema; its metadata, where it has some, is the files'. `compression`
  /// is one of its codecs, or "" for its default.
  /// Invalid where it cannot hold such rows.
  Result<std::unique_ptr<ShardFormat>> (*make)(std::shared_ptr<arrow::Schema> schema,
                                               const std::string& compression,
                                               const RecordOptions& records);
};

#define EASYDATA_DECLARE(Id) extern const OutputFormat k##Id##Output;
EASYDATA_OUTPUT_FORMATS(EASYDATA_DECLARE)
#undef EASYDATA_DECLARE

/// Finds the format called `name`. Invalid where there is no such format or it lacks the
/// compression, naming those that there are.
Result<const OutputFormat*> FindOutputFormat(std::string_view name, std::string_view compression);

/// The names of the formats, in the order of the list.
std::vector<std::string> FormatNames();
/// The names of the formats that take an option which not all of them take.
std::vector<std::string> FormatsTaking(std::string_view option);
/// The codecs of a format, "none" among them; nothing where there is no such format.
std::vector<std::string> CompressionsOf(std::string_view format);
/// The codecs of all formats.
std::vector<std::string> CompressionNames();
/// "parquet, arrow or jsonl".
std::string JoinedByOr(const std::vector<std::string>& words);

/// The extension of a format's shards: ".parquet", ".jsonl.gz", ….
std::string ShardExtension(const OutputFormat& format, std::string_view compression);

}  // namespace easydata::sink
