#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/outputs/output_file.h"
#include "easydata/sink/row_groups.h"
#include "easydata/sink/save_job.h"
#include "easydata/sink/shard_format.h"
#include "easydata/stream/column_layout.h"

namespace easydata::sink {

/// A shard that is being written, under its temporary name.
struct OpenShard {
  std::shared_ptr<outputs::OutputFile> file;
  std::unique_ptr<ShardEncoder> encoder;
  ShardRecord record;

  Status Append(const EncodedGroup& group);
  /// Ends the file; the record then has its size and hash.
  Status Finish();
};

/// How the rows of a job become shards: the same for all of them.
struct ShardForm {
  /// Gives the first rows of the stream, so many of them (-1: all).
  using Sample = std::function<Result<std::vector<Batch>>(int64_t rows)>;

  std::unique_ptr<ColumnLayout> layout;
  std::unique_ptr<ShardFormat> format;
  /// What the tokens of the rows mean.
  Vocabularies tokens;

  /// Makes that of a job's rows, which have the schema `input`. `sample` is asked where they alone
  /// tell their columns.
  static Result<ShardForm> Make(const SaveJob& job, const std::shared_ptr<arrow::Schema>& input,
                                const Sample& sample);

  Result<EncodedGroup> Encode(const RowGroup& group) const;
  Result<OpenShard> Open(std::shared_ptr<outputs::OutputFile> file, std::string name) const;
};

/// The rows of a batch as they are written: `rows`, converted, with what is known of where they are
/// from.
Batch AsWritten(const Batch& batch, std::shared_ptr<arrow::RecordBatch> rows);

/// Encodes rows as they are written, and counts their tokens.
Result<EncodedGroup> EncodeRows(const std::vector<Batch>& rows, const ShardFormat& format);

/// The first rows of a job's stream, read by themselves.
Result<std::vector<Batch>> FirstRowsOf(const SaveJob& job, const StageContext& context,
                                       int64_t rows);

}  // namespace easydata::sink
