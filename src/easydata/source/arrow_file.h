#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/ipc/type_fwd.h>
#include <arrow/type_fwd.h>
#include <arrow/util/type_fwd.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/codec.h"
#include "easydata/files/decompressed_stream.h"
#include "easydata/files/file_info.h"

namespace easydata::source {

/// Reads one Arrow IPC file, of the file or the stream format, batch by batch. For one thread.
///
/// Batches are copied out of the file, the wanted columns only, and checked in full (offsets,
/// indices into dictionaries, lengths, nested text; of columns of text all but whether it is UTF-8,
/// which CheckText() does by rows): damage is an IOError that names the file and the batch, before
/// anything of the batch is used. Memory: the largest batch, of those columns.
///
/// A mapping would spare the copy, but a file that is cut short under it ends the process, and
/// nothing can rule that out.
class ArrowFile {
 public:
  /// `wanted`: the names of the columns to read; null for all.
  static Result<std::unique_ptr<ArrowFile>> Open(const files::FileInfo& info,
                                                 std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                 const arrow::Schema* wanted = nullptr);

  /// The schema of the file, with all columns.
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }

  /// The next record batch, or null at the end.
  Result<std::shared_ptr<arrow::RecordBatch>> Next();
  /// Number of the batch that Next() gives.
  int64_t next() const { return next_; }

  /// Passes over batches; for the file format nothing is read.
  Status Skip(int64_t batches);

  bool is_stream() const { return file_ == nullptr; }

  /// Bytes of the file up to so many batches, as if all were equal; -1 of a stream.
  int64_t FileBytes(double batches) const;

 private:
  ArrowFile(const files::FileInfo& info, std::shared_ptr<arrow::io::RandomAccessFile> file)
      : info_(info), random_file_(std::move(file)) {}
  Status OpenReader(const files::Codec& codec, const std::vector<int>& fields,
                    files::MemberCheck check);
  Result<std::shared_ptr<arrow::RecordBatch>> Read();

  const files::FileInfo info_;
  const std::shared_ptr<arrow::io::RandomAccessFile> random_file_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> stream_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t next_ = 0;
  int64_t most_bytes_ = 0;  // that one allocation may take
};

/// Rows of each batch of a file of the file format, from their headers.
Result<std::vector<int64_t>> RowsOfBatches(const files::FileInfo& info,
                                           arrow::io::RandomAccessFile* file);

}  // namespace easydata::source
