#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/source/damaged_file.h"
#include "easydata/source/data_format.h"
#include "easydata/source/file_source.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/file_vocabularies.h"
#include "easydata/source/open_files.h"
#include "easydata/source/read_ahead.h"
#include "easydata/source/row_counts.h"
#include "easydata/source/shard_reader.h"
#include "easydata/source/table_columns.h"
#include "easydata/storage/open_file.h"

namespace easydata::source {
namespace {

/// Row groups up to this size (uncompressed, of the columns read) are decoded whole by one task
/// each; larger ones by one task after the other, slice by slice.
constexpr int64_t kSmallGroupBytes = 8 << 20;

constexpr int64_t kHole = 64 << 10;  // so much between two columns is read with them

/// What is known of one Parquet file.
struct ParquetFile {
  std::string path;
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  std::shared_ptr<parquet::FileMetaData> metadata;
  std::shared_ptr<arrow::Schema> schema;
};

/// Turns what Parquet's own code throws into a Status.
template <typename F>
auto Guard(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return exec::StatusOfCurrentException();
  } catch (const parquet::ParquetStatusException& error) {
    return error.status();  // of the file, or of memory
  } catch (const std::exception& error) {
    return Status::IOError(error.what());
  }
}

parquet::ArrowReaderProperties ArrowProperties() {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  return properties;
}

parquet::ReaderProperties FileProperties(bool buffered) {
  parquet::ReaderProperties properties;
  properties.set_page_checksum_verification(true);
  if (buffered) {
    // A column chunk is then read piece by piece, not as a whole.
    properties.enable_buffered_stream();
    properties.set_buffer_size(256 << 10);
  }
  return properties;
}

Result<std::unique_ptr<parquet::arrow::FileReader>> OpenGroup(const ParquetFile& file,
                                                              bool buffered) {
  return Guard([&]() -> Result<std::unique_ptr<parquet::arrow::FileReader>> {
    parquet::arrow::FileReaderBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Open(file.file, FileProperties(buffered), file.metadata));
    builder.properties(ArrowProperties());
    return builder.Build();
  });
}

Result<std::shared_ptr<ParquetFile>> OpenParquet(const files::FileInfo& file) {
  auto out = std::make_shared<ParquetFile>();
  out->path = file.uri;
  ARROW_ASSIGN_OR_RAISE(out->file, storage::OpenFile(file));
  auto schema = files::ReadTwiceIfDamaged(out->file.get(), [&] {
    return Guard([&]() -> Result<std::shared_ptr<arrow::Schema>> {
      auto raw = parquet::ParquetFileReader::Open(out->file);
      out->metadata = raw->metadata();
      std::unique_ptr<parquet::arrow::FileReader> reader;
      ARROW_ASSIGN_OR_RAISE(
          reader, parquet::arrow::FileReader::Make(arrow::default_memory_pool(), std::move(raw),
                                                   ArrowProperties()));
      std::shared_ptr<arrow::Schema> schema;
      ARROW_RETURN_NOT_OK(reader->GetSchema(&schema));
      return schema;
    });
  });
  if (!schema.ok()) return NotWhole(file.uri, "Parquet file", schema.status());
  out->schema = std::move(*schema);
  return out;
}

/// The leaf columns under the chosen top-level fields.
std::vector<int> Leaves(const ParquetFile& file, const std::vector<int>& fields) {
  std::vector<bool> wanted(file.schema->num_fields(), false);
  for (int field : fields) wanted[field] = true;
  std::vector<int> out;
  const parquet::SchemaDescriptor* schema = file.metadata->schema();
  const parquet::schema::GroupNode* root = schema->group_node();
  for (int i = 0; i < schema->num_columns(); ++i) {
    if (wanted[root->FieldIndex(*schema->GetColumnRoot(i))]) out.push_back(i);
  }
  return out;
}

int64_t GroupBytes(const parquet::RowGroupMetaData& group, const std::vector<int>& leaves) {
  int64_t bytes = 0;
  for (int leaf : leaves) bytes += group.ColumnChunk(leaf)->total_uncompressed_size();
  return bytes;
}

class ParquetReader : public ShardReader {
 public:
  ParquetReader(std::shared_ptr<const ParquetFile> file, std::vector<int> fields,
                std::shared_ptr<arrow::Schema> schema, const ShardPosition& from,
                const ReadOptions& options, const ReadContext& context)
      : file_(std::move(file)),
        fields_(std::move(fields)),
        leaves_(Leaves(*file_, fields_)),
        schema_(std::move(schema)),
        position_(from),
        end_(
            static_cast<int>(std::min<int64_t>(options.end_at, file_->metadata->num_row_groups()))),
        on_error_(options.on_error),
        context_(context) {}

  Result<ShardPosition> Start() override {
    // The row says it all here: the footer has the rows of each group.
    position_.at = position_.line = position_.skip = 0;
    position_.exact = true;
    int64_t first = 0;
    for (group_ = 0; group_ < file_->metadata->num_row_groups(); ++group_) {
      const int64_t rows = file_->metadata->RowGroup(group_)->num_rows();
      if (position_.row < first + rows) break;
      first += rows;
    }
    if (group_ < file_->metadata->num_row_groups()) {
      const int64_t into = position_.row - first;
      const auto group = file_->metadata->RowGroup(group_);
      const int64_t slice = SliceRows(*group);
      if (slice < group->num_rows()) {
        first_slice_ = into / slice;
        position_.skip = into % slice;
      } else {
        position_.skip = into;
      }
    }
    skip_ = position_.skip;
    return position_;
  }

  Result<std::optional<BlockTask>> Next() override {
    for (;;) {
      if (slices_ != nullptr) {
        auto read = slices_->Next();
        if (!read.ok()) return Damaged(GroupName(group_), read.status());
        if (auto& slice = *read; slice.has_value()) {
          const auto group = file_->metadata->RowGroup(group_);
          const int64_t piece = next_slice_++;
          const bool is_last = next_slice_ * SliceRows(*group) >= group->num_rows();
          return Task({group_, piece}, is_last ? kNoMorePieces : next_slice_,
                      [batch = std::move(*slice)]() -> Result<Batch> { return batch; });
        }
        SetSlices(nullptr);
        ++group_;
      }
      if (group_ >= end_) return std::nullopt;
      const auto group = file_->metadata->RowGroup(group_);
      const int64_t slice = SliceRows(*group);
      if (slice < group->num_rows()) {
        StartSlices(slice);
        continue;
      }
      const int g = group_++;
      ARROW_RETURN_NOT_OK(Announce(g));
      return Task(
          {g, 0}, kNoMorePieces,
          [file = file_, leaves = leaves_, g, rows = group->num_rows(),
           count = context_.count_bytes] { return ReadGroup(*file, g, leaves, rows, count); });
    }
  }

  void Cancel() override {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    if (slices_ != nullptr) slices_->Cancel();
  }

 private:
  using Batch = std::shared_ptr<arrow::RecordBatch>;

  void SetSlices(std::unique_ptr<ReadAhead<Batch>> slices) {
    std::lock_guard<std::mutex> lock(mutex_);
    slices_ = std::move(slices);
    if (cancelled_ && slices_ != nullptr) slices_->Cancel();
  }

  int64_t SliceRows(const parquet::RowGroupMetaData& group) const {
    const int64_t bytes = GroupBytes(group, leaves_);
    const int64_t rows = std::max<int64_t>(1, group.num_rows());
    if (bytes <= kSmallGroupBytes && rows <= 8 * kMaxSliceRows) return rows;
    return RowsOfASlice(rows, bytes);
  }

  static Status WrongRows(int64_t rows) {
    return Status::Invalid("its columns have not the ", rows, " rows each that the footer says");
  }

  /// Bytes of the file up to a slice of a group, or to the group's end, as if all rows were equal.
  int64_t FileBytes(int group, int64_t slice) const {
    const auto& metadata = *file_->metadata;
    const auto of_group = metadata.RowGroup(group);
    int64_t rows = slice == kNoMorePieces ? of_group->num_rows() : slice * SliceRows(*of_group);
    for (int before = 0; before < group; ++before) rows += metadata.RowGroup(before)->num_rows();
    const auto size = static_cast<double>(file_->file->GetSize().ValueOr(0));
    const auto all = static_cast<double>(std::max<int64_t>(metadata.num_rows(), 1));
    return static_cast<int64_t>(size * static_cast<double>(rows) / all);
  }

  static std::string GroupName(int group) { return "row group " + std::to_string(group); }

  template <typename Get>
  BlockTask Task(PieceId piece, int64_t next_piece, Get get) {
    BlockTask task;
    if (skip_ == 0) task.piece = piece;
    task.next_piece = next_piece;
    task.file_bytes = FileBytes(static_cast<int>(piece.block), next_piece);
    task.decode = [group = static_cast<int>(piece.block), get = std::move(get),
                   skip = std::exchange(skip_, 0), schema = schema_,
                   on_error = on_error_]() -> Result<DecodedBlock> {
      auto read = get();
      if (!read.ok()) return Damaged(GroupName(group), read.status());
      return BlockInColumns(std::move(*read), schema, skip, on_error);
    };
    return task;
  }

  static Result<Batch> ReadGroup(const ParquetFile& file, int group, const std::vector<int>& leaves,
                                 int64_t rows, const std::function<void(int64_t)>& count) {
    CountGroup(file, group, leaves, count);
    return files::ReadTwiceIfDamaged(file.file.get(), [&] {
      return Guard([&]() -> Result<Batch> {
        ARROW_ASSIGN_OR_RAISE(auto reader, OpenGroup(file, false));
        // As a table: a reader of batches would not look past the rows that the footer states.
        ARROW_ASSIGN_OR_RAISE(const auto table, reader->ReadRowGroup(group, leaves));
        if (table->num_rows() != rows || !table->Validate().ok()) return WrongRows(rows);
        return table->CombineChunksToBatch();
      });
    });
  }

  static void CountGroup(const ParquetFile& file, int group, const std::vector<int>& leaves,
                         const std::function<void(int64_t)>& count) {
    const auto metadata = file.metadata->RowGroup(group);
    int64_t bytes = 0;
    for (int leaf : leaves) bytes += metadata->ColumnChunk(leaf)->total_compressed_size();
    count(bytes);
  }

  /// Announces the column chunks of a group and of those behind it, some megabytes ahead. Large
  /// ones are read slice by slice, and not announced.
  Status Announce(int group) {
    std::vector<arrow::io::ReadRange> ranges;
    announced_ = std::max(announced_, group);
    int64_t ahead = 0;
    for (int g = group; g < end_ && ahead < kReadAheadBytes; ++g) {
      const auto metadata = file_->metadata->RowGroup(g);
      if (SliceRows(*metadata) < metadata->num_rows()) break;
      const auto of_group = RangesOf(*metadata);
      for (const auto& range : of_group) ahead += range.length;
      if (g < announced_) continue;
      ranges.insert(ranges.end(), of_group.begin(), of_group.end());
      announced_ = g + 1;
    }
    return ranges.empty() ? Status::OK() : file_->file->WillNeed(ranges);
  }

  /// Where the chosen columns of a group lie, those near each other as one.
  std::vector<arrow::io::ReadRange> RangesOf(const parquet::RowGroupMetaData& group) const {
    std::vector<arrow::io::ReadRange> ranges;
    for (int leaf : leaves_) {
      const auto chunk = group.ColumnChunk(leaf);
      int64_t begin = chunk->data_page_offset();
      if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0) {
        begin = std::min(begin, chunk->dictionary_page_offset());
      }
      ranges.push_back({begin, chunk->total_compressed_size()});
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    std::vector<arrow::io::ReadRange> joined;
    for (const auto& range : ranges) {
      if (!joined.empty() && range.offset - joined.back().offset - joined.back().length <= kHole) {
        joined.back().length =
            std::max(joined.back().length, range.offset + range.length - joined.back().offset);
      } else {
        joined.push_back(range);
      }
    }
    return joined;
  }

  /// Reads a large row group in order, as far ahead as there are workers to use it.
  void StartSlices(int64_t slice_rows) {
    struct Slices {
      std::unique_ptr<parquet::arrow::FileReader> reader;
      std::unique_ptr<arrow::RecordBatchReader> batches;
      int64_t next;    // slice to hand out
      int64_t at = 0;  // slice that the reader comes to
      int64_t rows = 0;
      bool is_new = true;
    };
    auto state = std::make_shared<Slices>();
    state->next = next_slice_ = std::exchange(first_slice_, 0);
    SetSlices(std::make_unique<ReadAhead<Batch>>(
        context_.pool, 2,
        [state, file = file_, leaves = leaves_, group = group_, slice_rows,
         count = context_.count_bytes]() -> Result<std::optional<Batch>> {
          if (std::exchange(state->is_new, false)) CountGroup(*file, group, leaves, count);
          const auto read = [&]() -> Result<std::optional<Batch>> {
            if (state->reader == nullptr) {
              ARROW_ASSIGN_OR_RAISE(state->reader, OpenGroup(*file, true));
              state->reader->set_batch_size(slice_rows);
              ARROW_ASSIGN_OR_RAISE(state->batches,
                                    state->reader->GetRecordBatchReader({group}, leaves));
              state->at = state->rows = 0;
            }
            for (;;) {
              Batch batch;
              ARROW_RETURN_NOT_OK(state->batches->ReadNext(&batch));
              const int64_t rows = file->metadata->RowGroup(group)->num_rows();
              if (batch == nullptr && state->rows == rows) return std::nullopt;
              if (batch == nullptr) return WrongRows(rows);
              state->rows += batch->num_rows();
              if (state->at++ < state->next) continue;
              ++state->next;
              return batch;
            }
          };
          return files::ReadTwiceIfDamaged(file->file.get(), [&] {
            auto slice = Guard(read);
            // Another attempt begins with the group.
            if (!slice.ok()) state->reader = nullptr;
            return slice;
          });
        }));
  }

  const std::shared_ptr<const ParquetFile> file_;
  const std::vector<int> fields_;
  const std::vector<int> leaves_;
  const std::shared_ptr<arrow::Schema> schema_;
  ShardPosition position_;
  const int end_;
  const OnError on_error_;
  const ReadContext context_;
  int group_ = 0;
  int announced_ = 0;  // groups before this one
  int64_t first_slice_ = 0;
  int64_t next_slice_ = 0;  // of those that are read: the one to hand out
  int64_t skip_ = 0;
  std::mutex mutex_;  // guards slices_ against Cancel()
  bool cancelled_ = false;
  std::unique_ptr<ReadAhead<Batch>> slices_;
};

class ParquetSource : public FileSource {
 public:
  explicit ParquetSource(FileList files)
      : FileSource(std::move(files)),
        open_(this->files().files(), OpenParquet),
        rows_(this->files().uris().size()) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    if (files().uris().empty()) return arrow::schema(arrow::FieldVector{});
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    vocabularies_.Note(shard, VocabularyOf(*file));
    return ChosenSchema(*file->schema, columns, file->path);
  }

  bool has_file_columns() const override { return true; }
  bool casts_columns() const override { return true; }

  Result<std::string> VocabularyText(size_t shard) const override {
    if (auto known = vocabularies_.Get(shard); known.has_value()) return *std::move(known);
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    return vocabularies_.Note(shard, VocabularyOf(*file));
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto file, open_.Open(shard, context.is_look));
    ARROW_ASSIGN_OR_RAISE(auto fields,
                          ChosenFields(*file->schema, *schema, options.columns, file->path));
    rows_.Remember(shard, file->metadata->num_rows());  // for when it is lost
    if (!context.is_look) {
      ARROW_RETURN_NOT_OK(
          vocabularies_.Check(shard, VocabularyOf(*file), *schema, this->files().uris()));
    }
    return std::make_unique<ParquetReader>(std::move(file), std::move(fields), std::move(schema),
                                           from, options, context);
  }

  bool has_unchecked_text() const override { return true; }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override {
    if (const auto known = rows_.Get(shard); known.has_value()) return known;
    if (const auto told = ToldBlocks(shard); told.has_value()) return told->row_starts.back();
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    return rows_.Remember(shard, file->metadata->num_rows());
  }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto rows, KnownRows(shard));
    return *rows;
  }

  Result<Blocks> ListBlocks(size_t shard) const override {
    if (auto told = ToldBlocks(shard); told.has_value()) return *std::move(told);
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    Blocks blocks;
    blocks.count = file->metadata->num_row_groups();
    blocks.row_starts = {0};
    for (int group = 0; group < file->metadata->num_row_groups(); ++group) {
      blocks.row_starts.push_back(blocks.row_starts.back() +
                                  file->metadata->RowGroup(group)->num_rows());
    }
    return blocks;
  }

  nlohmann::json Describe() const override { return files().Describe("parquet"); }

 private:
  static std::string VocabularyOf(const ParquetFile& file) {
    return VocabularyTextOf(file.metadata->key_value_metadata().get());
  }

  mutable OpenFiles<ParquetFile> open_;
  mutable FileVocabularies vocabularies_;
  mutable RowCounts rows_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MakeParquetSource(std::vector<files::FileInfo> files) {
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  return std::make_shared<const ParquetSource>(std::move(list));
}

constinit const DataFormat kParquetFormat = {
    .name = "parquet",
    .kind = "parquet",
    .suffixes = {".parquet", ".pq"},
    .builder = "parquet",
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json&) {
      return MakeParquetSource(std::move(files));
    }};

}  // namespace easydata::source
