#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/source/arrow_file.h"
#include "easydata/source/data_format.h"
#include "easydata/source/file_source.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/file_vocabularies.h"
#include "easydata/source/open_files.h"
#include "easydata/source/read_ahead.h"
#include "easydata/source/row_counts.h"
#include "easydata/source/table_columns.h"
#include "easydata/storage/open_file.h"

namespace easydata::source {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

int64_t SliceRows(const arrow::RecordBatch& batch) {
  return RowsOfASlice(batch.num_rows(), arrow::util::TotalBufferSize(batch));
}

struct Slice {
  BatchPtr rows;
  PieceId piece;
  int64_t next_piece;
  int64_t next_at;
  int64_t next_skip;
  int64_t file_bytes = -1;  // BlockTask's
};

/// The piece that begins at row `row` of record batch `batch`. A stream is one block.
PieceId PieceAt(const ArrowFile& file, int64_t batch, int64_t row) {
  if (!file.is_stream()) return {batch, row};
  return {0, (batch << 32) + row};
}

class ArrowReader : public ShardReader {
 public:
  ArrowReader(std::unique_ptr<ArrowFile> file, std::shared_ptr<arrow::Schema> schema,
              const ShardPosition& from, const ReadOptions& options, const ReadContext& context)
      : file_(std::move(file)),
        schema_(std::move(schema)),
        position_(from),
        end_at_(options.end_at),
        on_error_(options.on_error),
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
        ARROW_ASSIGN_OR_RAISE(first, ReadBatch(file_.get(), context_.count_bytes));
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
    auto file = std::shared_ptr<ArrowFile>(std::move(file_));
    slices_ = std::make_unique<ReadAhead<Slice>>(
        context_.pool, 3,
        [file, batch = first, into, end_at = end_at_,
         count = context_.count_bytes]() mutable -> Result<std::optional<Slice>> {
          for (;;) {
            if (batch == nullptr) {
              if (file->next() >= end_at) return std::nullopt;
              ARROW_ASSIGN_OR_RAISE(batch, ReadBatch(file.get(), count));
              if (batch == nullptr) return std::nullopt;
            }
            if (into < batch->num_rows()) break;
            batch = nullptr;
            into = 0;
          }
          Slice slice;
          slice.piece = PieceAt(*file, file->next() - 1, into);
          slice.rows = batch->Slice(into, SliceRows(*batch));
          into += slice.rows->num_rows();
          const bool whole = into == batch->num_rows();
          slice.next_at = whole ? file->next() : file->next() - 1;
          slice.next_skip = whole ? 0 : into;
          const auto rows = static_cast<double>(std::max<int64_t>(batch->num_rows(), 1));
          slice.file_bytes = file->FileBytes(static_cast<double>(file->next() - 1) +
                                             static_cast<double>(into) / rows);
          const PieceId next = PieceAt(*file, slice.next_at, slice.next_skip);
          slice.next_piece = next.block == slice.piece.block ? next.piece : kNoMorePieces;
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
    if (skip_ == 0) task.piece = slice->piece;
    task.next_piece = slice->next_piece;
    task.file_bytes = slice->file_bytes;
    task.decode = [batch = std::move(slice->rows), schema = schema_, on_error = on_error_,
                   skip = std::exchange(skip_, 0)]() {
      return BlockInColumns(batch, schema, skip, on_error);
    };
    return task;
  }

  void Cancel() override {
    if (slices_ != nullptr) slices_->Cancel();
  }

 private:
  /// The next record batch, counted as read; nothing at the end.
  static Result<BatchPtr> ReadBatch(ArrowFile* file, const std::function<void(int64_t)>& count) {
    ARROW_ASSIGN_OR_RAISE(auto batch, file->Next());
    if (batch == nullptr) return batch;
    ARROW_ASSIGN_OR_RAISE(const int64_t bytes, arrow::util::ReferencedBufferSize(*batch));
    count(bytes);
    return batch;
  }

  std::unique_ptr<ArrowFile> file_;
  const std::shared_ptr<arrow::Schema> schema_;
  ShardPosition position_;
  const int64_t end_at_;
  const OnError on_error_;
  const ReadContext context_;
  int64_t skip_ = 0;
  std::unique_ptr<ReadAhead<Slice>> slices_;
};

class ArrowSource : public FileSource {
 public:
  explicit ArrowSource(FileList files)
      : FileSource(std::move(files)),
        open_(this->files().files(), storage::OpenFile),
        rows_(this->files().uris().size()) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    if (files().uris().empty()) return arrow::schema(arrow::FieldVector{});
    ARROW_ASSIGN_OR_RAISE(const auto opened, open_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(auto file, ArrowFile::Open(files().files()[shard], opened));
    vocabularies_.Note(shard, VocabularyOf(*file));
    return ChosenSchema(*file->schema(), columns, files().uris()[shard]);
  }

  Result<std::string> VocabularyText(size_t shard) const override {
    if (auto known = vocabularies_.Get(shard); known.has_value()) return *std::move(known);
    ARROW_ASSIGN_OR_RAISE(const auto opened, open_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(const auto file, ArrowFile::Open(files().files()[shard], opened));
    return vocabularies_.Note(shard, VocabularyOf(*file));
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto opened, open_.Open(shard, context.is_look));
    ARROW_ASSIGN_OR_RAISE(auto file,
                          ArrowFile::Open(files().files()[shard], std::move(opened), schema.get()));
    ARROW_RETURN_NOT_OK(
        ChosenFields(*file->schema(), *schema, options.columns, files().uris()[shard]).status());
    if (!context.is_look) {
      ARROW_RETURN_NOT_OK(vocabularies_.Check(shard, VocabularyOf(*file), *schema, files().uris()));
    }
    return std::make_unique<ArrowReader>(std::move(file), std::move(schema), from, options,
                                         context);
  }

  bool has_file_columns() const override { return true; }
  bool casts_columns() const override { return true; }

  bool has_unchecked_text() const override { return true; }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override {
    if (const auto known = rows_.Get(shard); known.has_value()) return known;
    if (const auto told = ToldBlocks(shard); told.has_value()) return told->row_starts.back();
    ARROW_ASSIGN_OR_RAISE(const Blocks blocks, ListBlocks(shard));
    if (blocks.row_starts.empty()) return std::nullopt;  // a stream
    return rows_.Remember(shard, blocks.row_starts.back());
  }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto known, KnownRows(shard));
    if (known.has_value()) return *known;
    ARROW_ASSIGN_OR_RAISE(const auto opened, open_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(auto file, ArrowFile::Open(files().files()[shard], opened));
    int64_t rows = 0;
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(auto batch, file->Next());
      if (batch == nullptr) return rows_.Remember(shard, rows);
      rows += batch->num_rows();
    }
  }

  Result<Blocks> ListBlocks(size_t shard) const override {
    if (auto told = ToldBlocks(shard); told.has_value()) return *std::move(told);
    ARROW_ASSIGN_OR_RAISE(const auto opened, open_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(auto file, ArrowFile::Open(files().files()[shard], opened));
    Blocks blocks;
    if (file->is_stream()) return blocks;
    ARROW_ASSIGN_OR_RAISE(const auto rows, RowsOfBatches(files().files()[shard], opened.get()));
    blocks.count = static_cast<int64_t>(rows.size());
    blocks.row_starts = {0};
    for (const int64_t count : rows) blocks.row_starts.push_back(blocks.row_starts.back() + count);
    return blocks;
  }

  nlohmann::json Describe() const override { return files().Describe("arrow"); }

 private:
  static std::string VocabularyOf(const ArrowFile& file) {
    return VocabularyTextOf(file.schema()->metadata().get());
  }

  mutable OpenFiles<arrow::io::RandomAccessFile> open_;
  mutable FileVocabularies vocabularies_;
  mutable RowCounts rows_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MakeArrowSource(std::vector<files::FileInfo> files) {
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  return std::make_shared<const ArrowSource>(std::move(list));
}

constinit const DataFormat kArrowFormat = {
    .name = "arrow",
    .kind = "arrow",
    .suffixes = {".arrow", ".ipc", ".feather"},
    .builder = "arrow",
    .options = {kZstdMaxWindow},
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json&) {
      return MakeArrowSource(std::move(files));
    }};

}  // namespace easydata::source
