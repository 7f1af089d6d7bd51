#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/config/field.h"
#include "easydata/sink/output_format.h"
#include "easydata/storage/storage.h"
#include "easydata/stream/column_layout.h"

namespace easydata::sink {

/// What users set of an output.
struct WriteOptions {
  static constexpr const char* kName = "WriteOptions";
  static constexpr const char* kDoc = "The options of easydata.save_dataset.";
  static constexpr const char* kNodes[] = {"writer"};

  /// A local folder, made where it does not exist, or a prefix of an object store.
  std::string output_path;
  /// How it is reached; null: without options.
  std::shared_ptr<const storage::Storage> storage;
  std::string format = "parquet";
  /// "" for the format's own default; see output_format.h.
  std::string compression;
  int64_t max_shard_size = int64_t{500} << 20;
  std::optional<int64_t> num_shards;
  std::optional<int64_t> max_shard_rows;
  /// Bytes of input that make one shard; see Unit. Nothing: shards are closed by what is written.
  std::optional<int64_t> units;
  /// "": rows are dealt in their order; see ShardsByValue.
  std::string shard_column;
  std::string shard_prefix;
  /// "json" or "": see RecordOptions.
  std::string encode;
  std::string writer_options;
  bool overwrite = false;
  /// Worker threads; 0 for one a core.
  int32_t num_threads = 0;
  /// The columns to write, in this order; all by default.
  WantedColumns columns;
  /// Types of some columns, by their paths (ColumnTypes).
  std::optional<config::Named<std::string>> column_types;

  static config::FieldList Fields() {
    using O = WriteOptions;
    const auto formats_taking = [](const char* option) {
      const std::vector<std::string> names = FormatsTaking(option);
      return std::vector<config::Json>(names.begin(), names.end());
    };
    return {
        config::Field{"format", &O::format, "Format of the shards."}.OneOf(FormatNames()),
        config::Field{"max_shard_size", &O::max_shard_size,
                      "Bytes of a file at which a shard is closed, at its next row group."}
            .AtLeast(1)
            .SupersededBy("num_shards")
            .SupersededBy("max_shard_rows"),
        config::Field{
            "num_shards", &O::num_shards,
            "Exact number of shards, in place of max_shard_size: runs of 1,024 rows are dealt to "
            "them in turn, shorter ones where rows are few, so that no shard is empty that a row "
            "is "
            "there for: all rows in runs of equal length, one for each shard, or, past 256 MB of "
            "content, as many rows a run as these have for each shard."}
            .AtLeast(1)
            .AtMost(100'000),
        config::Field{
            "max_shard_rows", &O::max_shard_rows,
            "Exact number of rows of each shard but the last, in place of max_shard_size."}
            .AtLeast(1),
        config::Field{"units", &O::units,
                      "Bytes of the files that are read for one shard, in place of max_shard_size: "
                      "files that are smaller are put together, larger ones cut between blocks. "
                      "Each such unit is made by itself, packed rows too, in any process."}
            .AtLeast(1),
        config::Field{
            "column_types", &O::column_types,
            "Types of some columns, as written: {\"score\": \"float64\", \"meta.id\": "
            "\"string\"}; a path goes into objects and through lists. Unset, and for all "
            "others: as they come, for rows without a schema as the first 1,000 have them."},
        config::Field{
            "shard_column", &O::shard_column,
            "Rows of one value of this column go into one of the num_shards shards, whose "
            "number is the XXH3 hash (64 bits, seed 0) of the value's text modulo "
            "num_shards: of text its UTF-8, of numbers and truth values what JSON has, of "
            "dates and times their ISO text, of null nothing. Unset: rows are dealt in "
            "their order."}
            .OrNone(),
        config::Field{"shard_prefix", &O::shard_prefix,
                      "Shards are named <prefix>_000000, <prefix>_000001 and so on, as ArrayRecord "
                      "files of a split are (\"train\"). Unset: shard-00000, shard-00001, ..."}
            .OrNone(),
        config::Field{"encode", &O::encode,
                      "What a record of an ArrayRecord file is: with \"json\" the row, all of its "
                      "columns, as a JSON object. Unset: the value of the only column."}
            .OneOf({"json"})
            .OrNone()
            .Beside("format", formats_taking("encode")),
        config::Field{
            "writer_options", &O::writer_options,
            "Options of ArrayRecord files as the package array_record takes them, such as "
            "\"group_size:16,zstd:9\": records of a chunk, which are read together, and "
            "codec with its level. Unset: group_size:1 and compression."}
            .OrNone()
            .Beside("format", formats_taking("writer_options")),
        config::Field{
            "compression", &O::compression,
            "Codec; unset: zstd for Parquet and ArrayRecord, none for the others. Each format has "
            "some of them."}
            .OneOf(CompressionNames())
            .OrNone(),
        config::Field{
            "overwrite", &O::overwrite,
            "Replace an output that is there already, wholly. Only what its own metadata names is "
            "deleted: any other file in the folder is an error, and so is one that is read."},
        config::Field{"num_threads", &O::num_threads, "Worker threads; unset: one for each core."}
            .AtLeast(1, " (None: one for each core)")
            .OrNone()
            .ForCompatibility("the output is the same, whatever the number of threads"),
    };
  }

  /// Adds what is wrong with options of which each is right by itself.
  void Check(const std::string& path, config::Problems* problems) const;

  RecordOptions records() const { return {encode, writer_options}; }
};

}  // namespace easydata::sink
