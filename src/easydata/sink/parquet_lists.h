#pragma once

#include <arrow/record_batch.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/sink/shard_format.h"

namespace easydata::sink {

/// Encodes row groups whose columns are all long lists of numbers: tokens, masks, positions.
///
/// The library's own writer makes and encodes two levels for each value, which takes longer than
/// the values. Where no value is null the levels follow from where lists begin, so they are written
/// here, as runs (Parquet's "RLE/bit-packing hybrid"); pages, compression, encodings and metadata
/// are the library's. Immutable, thread-safe.
class ParquetLists {
 public:
  /// `file` is the metadata of a file without rows, which has the schema of all that follow.
  ParquetLists(std::shared_ptr<const parquet::FileMetaData> file,
               std::shared_ptr<parquet::WriterProperties> properties)
      : file_(std::move(file)), properties_(std::move(properties)) {}

  /// Whether Encode() can take a group of these rows.
  bool Takes(const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const;

  /// ShardFormat::Encode.
  Result<EncodedGroup> Encode(const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const;

 private:
  const std::shared_ptr<const parquet::FileMetaData> file_;
  const std::shared_ptr<parquet::WriterProperties> properties_;
};

}  // namespace easydata::sink
