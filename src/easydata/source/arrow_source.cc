#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/io/compression.h"
#include "easydata/io/local_file.h"
#include "easydata/io/mapped_file.h"
#include "easydata/source/damaged_file.h"
#include "easydata/source/file_list.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/read_ahead.h"
#include "easydata/source/table_columns.h"

namespace easydata {
namespace {

using arrow::ipc::IpcReadOptions;
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

/// Record batches are handed out in slices of about this size.
constexpr int64_t kSliceBytes = 2 << 20;
constexpr int64_t kMaxSliceRows = 8192;

int64_t SliceRows(const arrow::RecordBatch& batch) {
  const int64_t rows = std::max<int64_t>(1, batch.num_rows());
  const int64_t bytes = std::max<int64_t>(1, arrow::util::TotalBufferSize(batch));
  return std::clamp<int64_t>(rows * kSliceBytes / bytes, 1, kMaxSliceRows);
}

/// One Arrow IPC file of either format, read batch by batch.
class BatchFile {
 public:
  static Result<std::unique_ptr<BatchFile>> Open(const std::string& path) {
    auto out = std::make_unique<BatchFile>();
    ARROW_ASSIGN_OR_RAISE(const auto codec, DetectCompression(path));
    IpcReadOptions options = IpcReadOptions::Defaults();
    options.use_threads = false;
    if (codec != arrow::Compression::UNCOMPRESSED) {
      ARROW_ASSIGN_OR_RAISE(auto stream, OpenDecompressed(path, codec));
      // The file format needs its end first; only streams can be read as they come out of a
      // decompressor.
      ARROW_ASSIGN_OR_RAISE(auto head, stream->Read(6));
      if (head->size() == 6 && std::memcmp(head->data(), "ARROW1", 6) == 0) {
        return Status::NotImplemented(
            path,
            " is an Arrow file (not stream) inside a compressed file; unpack it "
            "first, or write it with Arrow's own compression");
      }
      ARROW_ASSIGN_OR_RAISE(stream, OpenDecompressed(path, codec));
      return OpenStream(path, std::move(stream), std::move(options), std::move(out));
    }
    // What is not compressed goes on as the file has it.
    ARROW_ASSIGN_OR_RAISE(auto file, OpenMappedFile(path));
    char head[6];
    ARROW_ASSIGN_OR_RAISE(const int64_t got, file->ReadAt(0, sizeof(head), head));
    if (got == 6 && std::memcmp(head, "ARROW1", 6) == 0) {
      auto reader = arrow::ipc::RecordBatchFileReader::Open(file, options);
      if (!reader.ok()) return NotWhole(path, "Arrow IPC file or stream", reader.status());
      out->file_ = std::move(*reader);
      out->schema_ = out->file_->schema();
      return out;
    }
    // Positioned reads leave a file without a place of its own to go on from.
    ARROW_ASSIGN_OR_RAISE(file, OpenLocalFile(path));
    return OpenStream(path, file, std::move(options), std::move(out));
  }

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  int64_t next() const { return next_; }

  Result<BatchPtr> Next() {
    if (file_ != nullptr && next_ >= file_->num_record_batches()) return BatchPtr();
    auto batch =
        file_ != nullptr ? file_->ReadRecordBatch(static_cast<int>(next_)) : stream_->Next();
    if (!batch.ok()) return Damaged("record batch " + std::to_string(next_), batch.status());
    ++next_;
    return batch;
  }

  /// Passes over batches; for a file nothing is read.
  Status Skip(int64_t batches) {
    if (file_ != nullptr) {
      next_ += batches;
      return Status::OK();
    }
    for (; batches > 0; --batches) ARROW_RETURN_NOT_OK(Next().status());
    return Status::OK();
  }

  bool is_stream() const { return file_ == nullptr; }

  Result<std::optional<int64_t>> KnownRows() {
    if (file_ == nullptr) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, file_->CountRows());
    return rows;
  }

 private:
  static Result<std::unique_ptr<BatchFile>> OpenStream(
      const std::string& path, std::shared_ptr<arrow::io::InputStream> stream,
      IpcReadOptions options, std::unique_ptr<BatchFile> out) {
    auto reader = arrow::ipc::RecordBatchStreamReader::Open(std::move(stream), options);
    if (!reader.ok()) return NotWhole(path, "Arrow IPC file or stream", reader.status());
    out->stream_ = std::move(*reader);
    out->schema_ = out->stream_->schema();
    return out;
  }

  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> stream_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t next_ = 0;
};

/// The batches of a file of the format with a footer; their rows are known without their columns.
Result<Blocks> BlocksOfFile(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file,
                        arrow::io::MemoryMappedFile::Open(path, arrow::io::FileMode::READ));
  IpcReadOptions options = IpcReadOptions::Defaults();
  options.use_threads = false;
  options.included_fields = {0};
  auto reader = arrow::ipc::RecordBatchFileReader::Open(file, options);
  if (!reader.ok()) return NotWhole(path, "Arrow IPC file", reader.status());
  Blocks blocks;
  blocks.count = (*reader)->num_record_batches();
  blocks.row_starts = {0};
  for (int i = 0; i < (*reader)->num_record_batches(); ++i) {
    auto batch = (*reader)->ReadRecordBatch(i);
    if (!batch.ok()) return Damaged("record batch " + std::to_string(i), batch.status());
    blocks.row_starts.push_back(blocks.row_starts.back() + (*batch)->num_rows());
  }
  return blocks;
}

struct Slice {
  BatchPtr rows;
  int64_t next_at;
  int64_t next_skip;
};

class ArrowReader : public ShardReader {
 public:
  ArrowReader(std::unique_ptr<BatchFile> file, std::shared_ptr<arrow::Schema> schema,
              const ShardPosition& from, int64_t end_at, const ReadContext& context)
      : file_(std::move(file)),
        schema_(std::move(schema)),
        position_(from),
        end_at_(end_at),
        context_(context) {}

  Result<ShardPosition> Start() override {
    BatchPtr first;
    int64_t into = position_.skip;
    if (position_.exact) {
      ARROW_RETURN_NOT_OK(file_->Skip(position_.at));
    } else {
      int64_t row = 0;
      position_.at = position_.skip = 0;
      while (row < position_.row) {
        ARROW_ASSIGN_OR_RAISE(first, file_->Next());
        if (first == nullptr) break;
        if (row + first->num_rows() > position_.row) break;
        row += first->num_rows();
        first = nullptr;
        ++position_.at;
      }
      into = first == nullptr ? 0 : position_.row - row;
      if (first != nullptr) {
        // On the grid of slices, as if it had been read from the begin.
        const int64_t slice = SliceRows(*first);
        skip_ = into % slice;
        into -= skip_;
      }
    }
    position_.skip = skip_;
    position_.exact = true;
    auto file = std::shared_ptr<BatchFile>(std::move(file_));
    slices_ = std::make_unique<ReadAhead<Slice>>(
        context_.pool, 3,
        [file, batch = first, into, end_at = end_at_]() mutable -> Result<std::optional<Slice>> {
          for (;;) {
            if (batch == nullptr) {
              if (file->next() >= end_at) return std::nullopt;
              ARROW_ASSIGN_OR_RAISE(batch, file->Next());
              if (batch == nullptr) return std::nullopt;
            }
            if (into < batch->num_rows()) break;
            batch = nullptr;
            into = 0;
          }
          Slice slice;
          slice.rows = batch->Slice(into, SliceRows(*batch));
          into += slice.rows->num_rows();
          const bool whole = into == batch->num_rows();
          slice.next_at = whole ? file->next() : file->next() - 1;
          slice.next_skip = whole ? 0 : into;
          if (whole) {
            batch = nullptr;
            into = 0;
          }
          return slice;
        });
    return position_;
  }

  Result<std::optional<BlockTask>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto slice, slices_->Next());
    if (!slice.has_value()) return std::nullopt;
    BlockTask task;
    task.next_at = slice->next_at;
    task.next_skip = slice->next_skip;
    task.decode = [batch = std::move(slice->rows), schema = schema_, skip = std::exchange(skip_, 0),
                   count = context_.count_bytes]() -> Result<DecodedBlock> {
      ARROW_ASSIGN_OR_RAISE(auto chosen, ChooseColumns(batch, schema));
      auto bytes = arrow::util::ReferencedBufferSize(*chosen);
      if (bytes.ok()) count(*bytes);
      DecodedBlock block;
      block.SetRows(std::move(chosen), skip);
      return block;
    };
    return task;
  }

  void Cancel() override {
    if (slices_ != nullptr) slices_->Cancel();
  }

 private:
  std::unique_ptr<BatchFile> file_;
  const std::shared_ptr<arrow::Schema> schema_;
  ShardPosition position_;
  const int64_t end_at_;
  const ReadContext context_;
  int64_t skip_ = 0;
  std::unique_ptr<ReadAhead<Slice>> slices_;
};

class ArrowSource : public Source {
 public:
  explicit ArrowSource(FileList files) : files_(std::move(files)), rows_(files_.paths().size()) {}

  const std::vector<std::string>& shard_names() const override { return files_.paths(); }

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    if (files_.paths().empty()) return arrow::schema(arrow::FieldVector{});
    ARROW_ASSIGN_OR_RAISE(auto file, BatchFile::Open(files_.paths()[shard]));
    return ChosenSchema(*file->schema(), columns, files_.paths()[shard]);
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto file, BatchFile::Open(files_.paths()[shard]));
    ARROW_RETURN_NOT_OK(ChosenFields(*file->schema(), *schema, files_.paths()[shard]).status());
    return std::make_unique<ArrowReader>(std::move(file), std::move(schema), from, options.end_at,
                                         context);
  }

  bool has_unchecked_text() const override { return true; }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (rows_[shard].has_value()) return rows_[shard];
    }
    ARROW_ASSIGN_OR_RAISE(auto file, BatchFile::Open(files_.paths()[shard]));
    ARROW_ASSIGN_OR_RAISE(auto rows, file->KnownRows());
    std::lock_guard<std::mutex> lock(mutex_);
    rows_[shard] = rows;
    return rows;
  }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto known, KnownRows(shard));
    if (known.has_value()) return *known;
    ARROW_ASSIGN_OR_RAISE(auto file, BatchFile::Open(files_.paths()[shard]));
    int64_t rows = 0;
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(auto batch, file->Next());
      if (batch == nullptr) break;
      rows += batch->num_rows();
    }
    std::lock_guard<std::mutex> lock(mutex_);
    rows_[shard] = rows;
    return rows;
  }

  Result<Blocks> ListBlocks(size_t shard) const override {
    ARROW_ASSIGN_OR_RAISE(auto file, BatchFile::Open(files_.paths()[shard]));
    return file->is_stream() ? Blocks{} : BlocksOfFile(files_.paths()[shard]);
  }

  nlohmann::json Describe() const override { return files_.Describe("arrow"); }

 private:
  const FileList files_;
  mutable std::mutex mutex_;
  mutable std::vector<std::optional<int64_t>> rows_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MakeArrowSource(std::vector<std::string> files) {
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  return std::make_shared<const ArrowSource>(std::move(list));
}

}  // namespace easydata
