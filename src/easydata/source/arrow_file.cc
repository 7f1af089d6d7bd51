#include "easydata/source/arrow_file.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <string>
#include <utility>

#include "easydata/base/machine_memory.h"
#include "easydata/base/sound_batch.h"
#include "easydata/base/sound_sizes.h"
#include "easydata/files/compression.h"
#include "easydata/source/arrow_footer.h"
#include "easydata/source/damaged_file.h"

namespace easydata::source {
namespace {

constexpr const char kKind[] = "Arrow IPC file or stream";

/// The largest possible buffer of a file of `bytes` bytes: no codec expands a byte more than zstd
/// does in a run, and no sound buffer is larger than the machine's memory.
int64_t MostBytes(int64_t bytes, const files::Codec& codec) {
  constexpr int64_t kPerByte = 1 << 15, kLeast = 1 << 20;
  const int64_t memory = MachineMemory();
  if (!codec.is_none() || bytes > memory / kPerByte) return memory;
  return std::max(kLeast, bytes * kPerByte);
}

/// Indices of the wanted fields in the file; none where all are wanted.
std::vector<int> FieldIndices(const arrow::Schema& wanted, const arrow::Schema& file) {
  std::vector<int> indices;
  for (const auto& field : wanted.fields()) {
    const int index = file.GetFieldIndex(field->name());
    if (index >= 0) indices.push_back(index);
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  if (static_cast<int>(indices.size()) == file.num_fields()) indices.clear();
  return indices;
}

/// Whether a file is of the format with a footer, not a stream.
Result<bool> HasFileFormat(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                           const files::Codec& codec) {
  ARROW_ASSIGN_OR_RAISE(auto stream,
                        files::ReadDecompressed(file, codec, files::MemberCheck::kAtEnd));
  ARROW_ASSIGN_OR_RAISE(const auto head, stream->Read(6));
  return head->ToString() == "ARROW1";
}

}  // namespace

Result<std::unique_ptr<ArrowFile>> ArrowFile::Open(
    const files::FileInfo& info, std::shared_ptr<arrow::io::RandomAccessFile> file,
    const arrow::Schema* wanted) {
  ARROW_ASSIGN_OR_RAISE(const auto codec, files::DetectCompression(file.get(), info));
  if (!codec.is_none()) {
    ARROW_ASSIGN_OR_RAISE(const bool is_file, HasFileFormat(file, codec));
    // The file format needs its end first; only streams can be read as they come out of a
    // decompressor.
    if (is_file) {
      return Status::NotImplemented(info.uri,
                                    " is an Arrow file (not stream) inside a compressed file; "
                                    "unpack it first, or write it with Arrow's own compression");
    }
  }
  std::unique_ptr<ArrowFile> out(new ArrowFile(info, std::move(file)));
  out->most_bytes_ = MostBytes(info.size, codec);
  Status status = out->OpenReader(codec, {}, files::MemberCheck::kAtEnd);
  if (status.ok() && wanted != nullptr) {
    const std::vector<int> fields = FieldIndices(*wanted, *out->schema_);
    if (!fields.empty() || !codec.is_none()) {
      status = out->OpenReader(codec, fields, files::MemberCheck::kBeforeUse);
    }
  }
  if (!status.ok()) return NotWhole(info.uri, kKind, status);
  return out;
}

Status ArrowFile::OpenReader(const files::Codec& codec, const std::vector<int>& fields,
                             files::MemberCheck check) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  options.memory_pool = SoundSizes::Get();
  options.included_fields = fields;
  const SoundSizes::Limit limit(most_bytes_);
  ARROW_ASSIGN_OR_RAISE(const bool is_file, HasFileFormat(random_file_, codec));
  if (is_file) {
    ARROW_ASSIGN_OR_RAISE(file_, arrow::ipc::RecordBatchFileReader::Open(random_file_, options));
    schema_ = file_->schema();
    return Status::OK();
  }
  ARROW_ASSIGN_OR_RAISE(auto stream, files::ReadDecompressed(random_file_, codec, check));
  ARROW_ASSIGN_OR_RAISE(auto reader,
                        arrow::ipc::RecordBatchStreamReader::Open(std::move(stream), options));
  // With some fields only, the reader's schema is of those.
  if (fields.empty()) schema_ = reader->schema();
  stream_ = std::move(reader);
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> ArrowFile::Read() {
  const SoundSizes::Limit limit(most_bytes_);
  std::shared_ptr<arrow::RecordBatch> batch;
  if (file_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(batch, file_->ReadRecordBatch(static_cast<int>(next_)));
  } else {
    ARROW_ASSIGN_OR_RAISE(batch, stream_->Next());
  }
  if (batch != nullptr) ARROW_RETURN_NOT_OK(CheckSoundBatch(*batch));
  return batch;
}

Result<std::shared_ptr<arrow::RecordBatch>> ArrowFile::Next() {
  if (file_ != nullptr && next_ >= file_->num_record_batches()) return nullptr;
  auto batch = Read();
  if (!batch.ok()) {
    return Damaged(info_.uri + ": record batch " + std::to_string(next_), batch.status());
  }
  ++next_;
  return batch;
}

int64_t ArrowFile::FileBytes(double batches) const {
  if (is_stream()) return -1;
  const double all = std::max(file_->num_record_batches(), 1);
  return static_cast<int64_t>(static_cast<double>(info_.size) * batches / all);
}

Status ArrowFile::Skip(int64_t batches) {
  if (file_ != nullptr) {
    next_ += batches;
    return Status::OK();
  }
  for (; batches > 0; --batches) ARROW_RETURN_NOT_OK(Next().status());
  return Status::OK();
}

Result<std::vector<int64_t>> RowsOfBatches(const files::FileInfo& info,
                                           arrow::io::RandomAccessFile* file) {
  auto rows = RowsOfBatches(file);
  if (!rows.ok()) return NotWhole(info.uri, "Arrow IPC file", rows.status());
  return rows;
}

}  // namespace easydata::source
