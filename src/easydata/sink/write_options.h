#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

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

  static config::FieldList Fields();

  /// Adds what is wrong with options of which each is right by itself.
  void Check(const std::string& path, config::Problems* problems) const;

  RecordOptions records() const { return {encode, writer_options}; }
};

}  // namespace easydata::sink
