#include "easydata/source/arrow_file.h"

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "easydata/base/machine_memory.h"
#include "easydata/files/compression.h"
#include "easydata/source/arrow_footer.h"
#include "easydata/source/damaged_file.h"

namespace easydata::source {
namespace {

constexpr const char kKind[] = "Arrow IPC file or stream";

/// Arrow's default memory pool, but it refuses what no sound file asks for: a damaged length is an
/// error of the file, not of the machine's memory.
class SoundSizes : public arrow::MemoryPool {
 public:
  /// While it lives, this thread's allocations are limited.
  class Limit {
   public:
    explicit Limit(int64_t bytes) { most_bytes = bytes; }
    ~Limit() { most_bytes = std::numeric_limits<int64_t>::max(); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;
  };

  /// Lives as long as the process, as batches in its memory may.
  static SoundSizes* Get() {
    static auto* pool = new SoundSizes;
    return pool;
  }

  Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    ARROW_RETURN_NOT_OK(Check(size));
    return pool_->Allocate(size, alignment, out);
  }
  Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override {
    ARROW_RETURN_NOT_OK(Check(new_size));
    return pool_->Reallocate(old_size, new_size, alignment, ptr);
  }
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override {
    pool_->Free(buffer, size, alignment);
  }
  int64_t bytes_allocated() const override { return pool_->bytes_allocated(); }
  int64_t total_bytes_allocated() const override { return pool_->total_bytes_allocated(); }
  int64_t num_allocations() const override { return pool_->num_allocations(); }
  std::string backend_name() const override { return pool_->backend_name(); }

 private:
  static Status Check(int64_t size) {
    if (size <= most_bytes) return Status::OK();
    return Status::Invalid("a buffer of ", size, " bytes is more than such a file can hold");
  }

  inline static thread_local int64_t most_bytes = std::numeric_limits<int64_t>::max();

  arrow::MemoryPool* const pool_ = arrow::default_memory_pool();
};

/// The largest possible buffer of a file of `bytes` bytes: no codec expands a byte more than zstd
/// does in a run, and no sound buffer is larger than the machine's memory.
int64_t MostBytes(int64_t bytes, const files::Codec& codec) {
  constexpr int64_t kPerByte = 1 << 15, kLeast = 1 << 20;
  const int64_t memory = MachineMemory();
  if (!codec.is_none() || bytes > memory / kPerByte) return memory;
  return std::max(kLeast, bytes * kPerByte);
}

/// Checks all that is taken for granted of a batch later; columns of text count as bytes here.
Status CheckBatch(const arrow::RecordBatch& batch) {
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (int i = 0; i < batch.num_columns(); ++i) {
    std::shared_ptr<arrow::Field> field = batch.schema()->field(i);
    std::shared_ptr<arrow::ArrayData> column = batch.column_data(i);
    const bool is_text = field->type()->id() == arrow::Type::STRING;
    if (is_text || field->type()->id() == arrow::Type::LARGE_STRING) {
      field = field->WithType(is_text ? arrow::binary() : arrow::large_binary());
      column = column->Copy();
      column->type = field->type();
    }
    fields.push_back(std::move(field));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(),
                                  std::move(columns))
      ->ValidateFull();
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
  if (batch != nullptr) ARROW_RETURN_NOT_OK(CheckBatch(*batch));
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
