#include <arrow/array.h>
#include <arrow/buffer_builder.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/files/damaged_read.h"
#include "easydata/record_file/array_record_file.h"
#include "easydata/source/damaged_file.h"
#include "easydata/source/data_format.h"
#include "easydata/source/file_source.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/file_vocabularies.h"
#include "easydata/source/json_rows.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/open_files.h"
#include "easydata/source/row_counts.h"
#include "easydata/source/row_runs.h"
#include "easydata/source/shard_reader.h"
#include "easydata/source/table_columns.h"
#include "easydata/storage/open_file.h"
#include "easydata/stream/row_error.h"

namespace easydata::source {

std::span<const NamedValue<RecordDecoding>> NamesOf(RecordDecoding) {
  static constexpr NamedValue<RecordDecoding> kNames[] = {{"text", RecordDecoding::kText},
                                                          {"int32", RecordDecoding::kInt32},
                                                          {"bytes", RecordDecoding::kBytes},
                                                          {"json", RecordDecoding::kJson}};
  return kNames;
}

namespace {

/// Chunks are read together up to so many bytes or rows.
constexpr int64_t kBlockOfChunks = 1 << 20;

/// An open file, and the chunks that each block begins with, and all of them.
struct RecordsFile {
  std::shared_ptr<const record_file::ArrayRecordFile> file;
  std::vector<int64_t> blocks;

  int64_t num_blocks() const { return static_cast<int64_t>(blocks.size()) - 1; }
  int64_t FirstRow(int64_t block) const {
    return block < num_blocks() ? file->chunk(blocks[block]).first_record : file->num_records();
  }
};

Result<std::shared_ptr<RecordsFile>> OpenRecords(const files::FileInfo& info) {
  auto out = std::make_shared<RecordsFile>();
  ARROW_ASSIGN_OR_RAISE(auto opened, storage::OpenFile(info));
  auto file = record_file::ArrayRecordFile::Open(std::move(opened));
  if (!file.ok()) return NotWhole(info.uri, "ArrayRecord file", file.status());
  out->file = std::move(*file);
  out->blocks = {0};
  for (int64_t k = 1; k < out->file->num_chunks(); ++k) {
    const auto first = out->file->chunk(out->blocks.back());
    const auto chunk = out->file->chunk(k);
    if (chunk.end - first.begin > kBlockOfChunks ||
        chunk.first_record + chunk.num_records - first.first_record > kMaxSliceRows) {
      out->blocks.push_back(k);
    }
  }
  if (out->file->num_chunks() > 0) out->blocks.push_back(out->file->num_chunks());
  return out;
}

/// What records are made columns by.
class RecordColumn {
 public:
  virtual ~RecordColumn() = default;
  /// Adds a record; false where it is none of these: `bad` has the reason and the message.
  virtual Result<bool> Append(std::string_view record, BadRow* bad) = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Finish() = 0;
};

/// The rows of the one column, or of none where no column was asked for.
Result<std::shared_ptr<arrow::RecordBatch>> FinishColumn(
    const std::shared_ptr<arrow::Schema>& schema, arrow::ArrayBuilder* builder) {
  ARROW_ASSIGN_OR_RAISE(auto array, builder->Finish());
  arrow::ArrayVector columns(schema->num_fields(), array);
  return arrow::RecordBatch::Make(schema, array->length(), std::move(columns));
}

template <typename Builder>
class PlainColumn : public RecordColumn {
 public:
  explicit PlainColumn(std::shared_ptr<arrow::Schema> schema) : schema_(std::move(schema)) {}

  Result<bool> Append(std::string_view record, BadRow*) override {
    ARROW_RETURN_NOT_OK(builder_.Append(record));
    return true;
  }
  Result<std::shared_ptr<arrow::RecordBatch>> Finish() override {
    return FinishColumn(schema_, &builder_);
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  Builder builder_;
};

class TokensColumn : public RecordColumn {
 public:
  explicit TokensColumn(std::shared_ptr<arrow::Schema> schema) : schema_(std::move(schema)) {}

  Result<bool> Append(std::string_view record, BadRow* bad) override {
    if (record.size() % sizeof(int32_t) != 0) {
      bad->reason = "not int32";
      bad->message = "a record of " + std::to_string(record.size()) +
                     " bytes is no list of int32, which have 4 each";
      return false;
    }
    ARROW_RETURN_NOT_OK(tokens_.Append(record.data(), static_cast<int64_t>(record.size())));
    const int64_t end = tokens_.length() / static_cast<int64_t>(sizeof(int32_t));
    if (end > std::numeric_limits<int32_t>::max()) {
      return Status::CapacityError("a block of records has more than 2^31 tokens");
    }
    ends_.push_back(static_cast<int32_t>(end));
    return true;
  }
  Result<std::shared_ptr<arrow::RecordBatch>> Finish() override {
    const auto rows = static_cast<int64_t>(ends_.size()) - 1;
    const int64_t count = ends_.back();
    ARROW_ASSIGN_OR_RAISE(auto tokens, tokens_.Finish());
    const auto array = std::make_shared<arrow::ListArray>(
        arrow::list(arrow::int32()), rows, arrow::Buffer::FromVector(std::move(ends_)),
        std::make_shared<arrow::Int32Array>(count, std::move(tokens)));
    arrow::ArrayVector columns(schema_->num_fields(), array);
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  arrow::BufferBuilder tokens_;
  std::vector<int32_t> ends_ = {0};
};

class JsonColumns : public RecordColumn {
 public:
  JsonColumns(const Columns& columns, const std::shared_ptr<arrow::Schema>& schema,
              int64_t total_bytes)
      : rows_(columns, schema, static_cast<size_t>(total_bytes), static_cast<size_t>(total_bytes)) {
  }

  Result<bool> Append(std::string_view record, BadRow* bad) override {
    padded_.assign(record);
    padded_.resize(record.size() + kChunkPadding);
    return rows_.Append(std::string_view(padded_).substr(0, record.size()), bad);
  }
  Result<std::shared_ptr<arrow::RecordBatch>> Finish() override { return rows_.Finish(); }

 private:
  JsonRows rows_;
  std::string padded_;
};

std::unique_ptr<RecordColumn> MakeColumn(RecordDecoding decoding, const Columns& columns,
                                         const std::shared_ptr<arrow::Schema>& schema,
                                         int64_t total_bytes) {
  switch (decoding) {
    case RecordDecoding::kText:
      return std::make_unique<PlainColumn<arrow::StringBuilder>>(schema);
    case RecordDecoding::kBytes:
      return std::make_unique<PlainColumn<arrow::BinaryBuilder>>(schema);
    case RecordDecoding::kInt32:
      return std::make_unique<TokensColumn>(schema);
    case RecordDecoding::kJson:
      break;
  }
  return std::make_unique<JsonColumns>(columns, schema, total_bytes);
}

/// Makes the rows of a block.
Result<DecodedBlock> DecodeRecordsOf(const RecordsFile& file, int64_t number,
                                     RecordDecoding decoding, const ReadOptions& options,
                                     const std::shared_ptr<arrow::Schema>& schema, int64_t skip) {
  struct Chunk {
    int64_t first_row;
    int64_t num_rows;
    Result<record_file::Records> records;
  };
  const int64_t begin = file.FirstRow(number);
  std::vector<Chunk> chunks;
  int64_t bytes = 0;
  ARROW_RETURN_NOT_OK(file.file->ReadChunks(
      file.blocks[number], file.blocks[number + 1],
      [&](int64_t k, Result<record_file::Records> records) -> Status {
        const auto chunk = file.file->chunk(k);
        if (records.ok()) bytes += records->values->size();
        // What is wrong with the way to the file, or with memory, is not wrong with the chunk; and
        // what cannot be read at all is no bad row, whatever becomes of these.
        if (!records.ok() &&
            (!files::IsOfContent(records.status()) || records.status().IsNotImplemented())) {
          return records.status();
        }
        chunks.push_back({chunk.first_record - begin, chunk.num_records, std::move(records)});
        return Status::OK();
      }));
  DecodedBlock block;
  RowRuns runs;
  auto column = MakeColumn(decoding, options.columns, schema, bytes);
  const bool raises = options.on_error == OnError::kRaise;
  for (const Chunk& chunk : chunks) {
    if (!chunk.records.ok() && chunk.first_row + chunk.num_rows <= skip) {
      block.num_rows += chunk.num_rows;
      continue;
    }
    if (!chunk.records.ok() && raises) {
      block.broken = Status::IOError(OneLine(chunk.records.status().message()),
                                     "; the file is damaged: get it again, or leave these records "
                                     "out (on_error=\"skip\")");
      break;
    }
    for (int64_t i = 0; i < chunk.num_rows; ++i) {
      const int64_t row = block.num_rows++;
      if (row < skip) continue;
      BadRow bad;
      bool is_added = false;
      if (chunk.records.ok()) {
        ARROW_ASSIGN_OR_RAISE(is_added, column->Append((*chunk.records)[i], &bad));
      } else {
        bad.reason = "damaged chunk";
        bad.message = OneLine(chunk.records.status().message());
      }
      if (is_added) {
        runs.Add(row);
        continue;
      }
      bad.row = row;
      if (raises) {
        block.stopped = std::move(bad);
        break;
      }
      if (chunk.records.ok()) bad.content = (*chunk.records)[i];
      block.bad.push_back(std::move(bad));
    }
    if (block.stopped.has_value()) break;
  }
  ARROW_ASSIGN_OR_RAISE(block.rows, column->Finish());
  block.runs = runs.Take();
  return block;
}

class RecordsReader : public ShardReader {
 public:
  RecordsReader(std::shared_ptr<const RecordsFile> file, RecordDecoding decoding,
                ReadOptions options, std::shared_ptr<arrow::Schema> schema,
                const ShardPosition& from, const ReadContext& context)
      : file_(std::move(file)),
        decoding_(decoding),
        options_(std::move(options)),
        schema_(std::move(schema)),
        position_(from),
        end_(std::min(options_.end_at, file_->num_blocks())),
        context_(context) {}

  Result<ShardPosition> Start() override {
    // The row says it all here: the footer has the rows of each chunk.
    const int64_t rows = file_->file->num_records();
    position_.line = position_.skip = 0;
    position_.exact = true;
    position_.at = file_->num_blocks();
    if (position_.row < rows) {
      const int64_t chunk = file_->file->ChunkOf(position_.row);
      position_.at = std::upper_bound(file_->blocks.begin(), file_->blocks.end(), chunk) -
                     file_->blocks.begin() - 1;
      position_.skip = position_.row - file_->FirstRow(position_.at);
    }
    next_ = announced_ = position_.at;
    skip_ = position_.skip;
    return position_;
  }

  Result<std::optional<BlockTask>> Next() override {
    if (next_ >= end_) return std::nullopt;
    ARROW_RETURN_NOT_OK(Announce());
    const int64_t number = next_++;
    BlockTask task;
    task.next_at = next_;
    task.file_bytes = EndOf(*file_, number);
    if (skip_ == 0) task.piece = PieceId{number, 0};
    task.decode = [file = file_, number, decoding = decoding_, options = options_, schema = schema_,
                   skip = std::exchange(skip_, 0), count = context_.count_bytes]() {
      count(EndOf(*file, number) - file->file->chunk(file->blocks[number]).begin);
      return DecodeRecordsOf(*file, number, decoding, options, schema, skip);
    };
    return task;
  }

 private:
  static int64_t EndOf(const RecordsFile& file, int64_t block) {
    return file.file->chunk(file.blocks[block + 1] - 1).end;
  }

  /// Announces blocks some megabytes ahead.
  Status Announce() {
    const int64_t begin = file_->file->chunk(file_->blocks[next_]).begin;
    while (announced_ < end_ && EndOf(*file_, announced_) - begin <= kReadAheadBytes) {
      ARROW_RETURN_NOT_OK(
          file_->file->WillNeed(file_->blocks[announced_], file_->blocks[announced_ + 1]));
      ++announced_;
    }
    return Status::OK();
  }

  const std::shared_ptr<const RecordsFile> file_;
  const RecordDecoding decoding_;
  const ReadOptions options_;
  const std::shared_ptr<arrow::Schema> schema_;
  ShardPosition position_;
  const int64_t end_;
  const ReadContext context_;
  int64_t next_ = 0;
  int64_t announced_ = 0;
  int64_t skip_ = 0;
};

class ArrayRecordSource : public FileSource {
 public:
  ArrayRecordSource(FileList files, std::string column, RecordDecoding decoding)
      : FileSource(std::move(files)),
        open_(this->files().files(), OpenRecords),
        rows_(this->files().uris().size()),
        column_(std::move(column)),
        decoding_(decoding) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    if (decoding_ == RecordDecoding::kJson) return JsonRowSchema(columns);
    const auto type = decoding_ == RecordDecoding::kText    ? arrow::utf8()
                      : decoding_ == RecordDecoding::kBytes ? arrow::binary()
                                                            : arrow::list(arrow::int32());
    return ChosenSchema(*arrow::schema({arrow::field(column_, type)}), columns,
                        files().uris().empty() ? "the records" : files().uris()[shard]);
  }

  Result<std::string> VocabularyText(size_t shard) const override {
    if (decoding_ == RecordDecoding::kText || decoding_ == RecordDecoding::kBytes) return "";
    if (auto known = vocabularies_.Get(shard); known.has_value()) return *std::move(known);
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    return vocabularies_.Note(shard, file->file->vocabulary());
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto file, open_.Open(shard, context.is_look));
    rows_.Remember(shard, file->file->num_records());  // for when it is lost
    if (!context.is_look) {
      ARROW_RETURN_NOT_OK(
          vocabularies_.Check(shard, file->file->vocabulary(), *schema, files().uris()));
    }
    return std::make_unique<RecordsReader>(std::move(file), decoding_, options, std::move(schema),
                                           from, context);
  }

  bool has_unchecked_text() const override { return decoding_ == RecordDecoding::kText; }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override {
    if (const auto known = rows_.Get(shard); known.has_value()) return known;
    if (const auto told = ToldBlocks(shard); told.has_value()) return told->row_starts.back();
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    return rows_.Remember(shard, file->file->num_records());
  }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(const auto rows, KnownRows(shard));
    return *rows;
  }

  Result<Blocks> ListBlocks(size_t shard) const override {
    if (auto told = ToldBlocks(shard); told.has_value()) return *std::move(told);
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    Blocks blocks;
    blocks.count = file->num_blocks();
    for (int64_t i = 0; i <= blocks.count; ++i) blocks.row_starts.push_back(file->FirstRow(i));
    return blocks;
  }

  bool takes_rows() const override { return true; }

  Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(size_t shard,
                                                       const std::shared_ptr<const ShardRef>& ref,
                                                       std::span<const int64_t> rows,
                                                       const ReadOptions& options,
                                                       const std::shared_ptr<arrow::Schema>& schema,
                                                       const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, false));
    auto column = MakeColumn(decoding_, options.columns, schema, 0);
    size_t next = 0;  // all before it are in the column
    Status of_row;
    const Status read =
        file->file->Read(rows, [&](size_t index, std::string_view record) -> Status {
          next = index;
          BadRow bad;
          ARROW_ASSIGN_OR_RAISE(const bool is_added, column->Append(record, &bad));
          if (!is_added) {
            of_row = RowError(Address{ref, rows[index]}, bad.message);
            return of_row;
          }
          ++next;
          context.count_bytes(static_cast<int64_t>(record.size()));
          return Status::OK();
        });
    ARROW_RETURN_NOT_OK(of_row);
    if (!read.ok() && files::IsOfContent(read)) {
      return RowError(Address{ref, rows[next]},
                      OneLine(read.message()) + "; the file is damaged: get it again", read.code());
    }
    ARROW_RETURN_NOT_OK(read);
    return column->Finish();
  }

  nlohmann::json Describe() const override {
    auto out = files().Describe("array_record");
    out["column"] = column_;
    out["decode"] = NameOf(NamesOf(decoding_), decoding_);
    return out;
  }

 private:
  mutable OpenFiles<RecordsFile> open_;
  mutable FileVocabularies vocabularies_;
  mutable RowCounts rows_;
  const std::string column_;
  const RecordDecoding decoding_;
};

std::string DefaultColumn(RecordDecoding decoding) {
  if (decoding == RecordDecoding::kInt32) return "input_ids";
  return decoding == RecordDecoding::kBytes ? "record" : "text";
}

}  // namespace

Result<std::shared_ptr<const Source>> MakeArrayRecordSource(std::vector<files::FileInfo> files,
                                                            const std::string& column,
                                                            RecordDecoding decoding) {
  if (decoding == RecordDecoding::kJson && !column.empty()) {
    return Status::Invalid(
        "column: decode=\"json\" makes columns of the fields of each record; "
        "leave it out");
  }
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  return std::make_shared<const ArrayRecordSource>(
      std::move(list), column.empty() ? DefaultColumn(decoding) : column, decoding);
}

constinit const DataFormat kArrayRecordFormat = {
    .name = "array_record",
    .kind = "array_record",
    .suffixes = {".arecord", ".array_record", ".arrayrecord"},
    .options = {"column", "decode"},
    .make = [](std::vector<files::FileInfo> files,
               const nlohmann::json& options) -> Result<std::shared_ptr<const Source>> {
      ARROW_ASSIGN_OR_RAISE(const RecordDecoding decoding,
                            ParseName(NamesOf(RecordDecoding()), "way to decode records (decode)",
                                      options.value("decode", "text")));
      return MakeArrayRecordSource(std::move(files), options.value("column", ""), decoding);
    }};

}  // namespace easydata::source
