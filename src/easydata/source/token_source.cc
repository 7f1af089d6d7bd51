#include <arrow/buffer.h>
#include <arrow/type.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/exec/ordered_map.h"
#include "easydata/files/sequential_reads.h"
#include "easydata/source/data_format.h"
#include "easydata/source/file_source.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/open_files.h"
#include "easydata/source/row_counts.h"
#include "easydata/source/table_columns.h"
#include "easydata/source/token_file.h"
#include "easydata/source/token_values.h"

namespace easydata::source {
namespace {

constexpr char kColumn[] = "input_ids";

/// A token file, and the rows before its blocks as far as they were counted.
struct CountedTokens {
  std::shared_ptr<const TokenFile> file;
  LineIndex counted;  // of rows
};

/// Finds out the rows before the first block that begins after row `row`; all of the file where
/// there is none.
Result<int64_t> CountUpTo(const std::shared_ptr<CountedTokens>& tokens, int64_t row,
                          const ReadContext& context) {
  int64_t next = tokens->counted.size() - 1;
  int64_t rows = tokens->counted.At(next).row;
  if (rows > row) return rows;
  const auto count = [file = tokens->file, &context](int64_t block) -> Result<int64_t> {
    context.count_bytes(file->BeginOf(block + 1) - file->BeginOf(block));
    return file->CountRows(block);
  };
  const auto note = [&](int64_t of_block) {
    rows += of_block;
    tokens->counted.Note(++next, {rows, 0});
  };
  const int64_t num_blocks = tokens->file->num_blocks();
  if (context.pool == nullptr) {
    while (next < num_blocks && rows <= row) {
      ARROW_ASSIGN_OR_RAISE(const int64_t of_block, count(next));
      note(of_block);
    }
    return rows;
  }
  exec::OrderedMap<int64_t, int64_t> counts(
      context.pool, 2 * context.pool->num_threads() + 1,
      [k = next, num_blocks]() mutable -> Result<std::optional<int64_t>> {
        if (k >= num_blocks) return std::nullopt;
        return k++;
      },
      count);
  while (rows <= row) {
    ARROW_ASSIGN_OR_RAISE(const auto of_block, counts.Next());
    if (!of_block.has_value()) break;
    note(*of_block);
  }
  return rows;
}

Result<int64_t> CountAll(const std::shared_ptr<CountedTokens>& tokens, const ReadContext& context) {
  if (const auto known = tokens->file->FirstRow(tokens->file->num_blocks()); known.has_value()) {
    return *known;
  }
  return CountUpTo(tokens, std::numeric_limits<int64_t>::max(), context);
}

class TokenReader : public ShardReader {
 public:
  TokenReader(std::shared_ptr<CountedTokens> tokens, const ReadOptions& options,
              std::shared_ptr<arrow::Schema> schema, const ShardPosition& from,
              const ReadContext& context)
      : tokens_(std::move(tokens)),
        on_error_(options.on_error),
        schema_(std::move(schema)),
        position_(from),
        end_(std::min(options.end_at, tokens_->file->num_blocks())),
        context_(context),
        reads_(tokens_->file->file(), tokens_->file->BeginOf(std::max<int64_t>(end_, 0))) {}

  Result<ShardPosition> Start() override {
    if (!position_.exact) ARROW_RETURN_NOT_OK(FindRow());
    position_.exact = true;
    next_ = position_.at;
    return position_;
  }

  Result<std::optional<BlockTask>> Next() override {
    if (next_ >= end_) return std::nullopt;
    const TokenFile& file = *tokens_->file;
    if (!context_.is_look) ARROW_RETURN_NOT_OK(reads_.At(file.BeginOf(next_)));
    const int64_t skip = next_ == position_.at ? position_.skip : 0;
    BlockTask task;
    task.decode = [file = tokens_->file, block = next_, skip, schema = schema_,
                   on_error = on_error_, count = context_.count_bytes]() -> Result<DecodedBlock> {
      ARROW_ASSIGN_OR_RAISE(const TokenBlock read, file->Read(block));
      count(read.bytes->size());
      return DecodeTokens(*file, read, schema, skip, on_error);
    };
    if (skip == 0) task.piece = PieceId{next_, 0};
    task.next_at = ++next_;
    task.file_bytes = file.BeginOf(next_);
    return task;
  }

 private:
  /// Finds the block of a row.
  Status FindRow() {
    const TokenFile& file = *tokens_->file;
    position_.at = position_.line = position_.skip = 0;
    if (position_.row == 0) return Status::OK();
    if (!file.FirstRow(file.num_blocks()).has_value()) {
      ARROW_RETURN_NOT_OK(CountUpTo(tokens_, position_.row, context_).status());
      position_.at = tokens_->counted.Find(position_.row);
      position_.skip = position_.row - tokens_->counted.At(position_.at).row;
      return Status::OK();
    }
    int64_t low = 0, high = file.num_blocks();  // the first block that begins after the row
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (*file.FirstRow(middle) > position_.row) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (position_.row >= *file.FirstRow(file.num_blocks())) {
      position_.at = file.num_blocks();
      return Status::OK();
    }
    position_.at = low - 1;
    position_.skip = position_.row - *file.FirstRow(position_.at);
    return Status::OK();
  }

  const std::shared_ptr<CountedTokens> tokens_;
  const OnError on_error_;
  const std::shared_ptr<arrow::Schema> schema_;
  ShardPosition position_;
  const int64_t end_;
  const ReadContext context_;
  files::SequentialReads reads_;
  int64_t next_ = 0;
};

Result<std::shared_ptr<CountedTokens>> OpenCounted(const files::FileInfo& info, TokenFormat format,
                                                   const TokenFileOptions& options) {
  auto out = std::make_shared<CountedTokens>();
  ARROW_ASSIGN_OR_RAISE(out->file, TokenFile::Open(info, format, options));
  return out;
}

class TokenSource : public FileSource {
 public:
  TokenSource(FileList files, TokenFormat format, const TokenFileOptions& options)
      : FileSource(std::move(files)),
        format_(format),
        options_(options),
        open_(this->files().files(),
              [format, options](const files::FileInfo& file) {
                return OpenCounted(file, format, options);
              }),
        rows_(this->files().uris().size()) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    return ChosenSchema(*arrow::schema({arrow::field(kColumn, arrow::list(arrow::int32()))}),
                        columns, files().uris().empty() ? "the tokens" : files().uris()[shard]);
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto tokens, open_.Open(shard, context.is_look));
    return std::make_unique<TokenReader>(std::move(tokens), options, std::move(schema), from,
                                         context);
  }

  Result<std::optional<ShardIdentity>> Identity(size_t shard) const override {
    ARROW_ASSIGN_OR_RAISE(auto identity, FileSource::Identity(shard));
    const auto& index = files().files()[shard].index;
    if (!identity.has_value() || index == nullptr) return identity;
    ARROW_ASSIGN_OR_RAISE(const ShardIdentity of_index, IdentityOfFile(*index));
    std::string text;
    for (const uint64_t half : identity->hash) text += ToHex(half);
    for (const uint64_t half : of_index.hash) text += ToHex(half);
    identity->hash = Hash128(text);
    return identity;
  }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override {
    if (const auto known = rows_.Get(shard); known.has_value()) return known;
    if (const auto told = ToldBlocks(shard); told.has_value()) return told->row_starts.back();
    ARROW_ASSIGN_OR_RAISE(const auto tokens, open_.Open(shard, true));
    const auto rows = tokens->file->FirstRow(tokens->file->num_blocks());
    if (rows.has_value()) rows_.Remember(shard, *rows);
    return rows;
  }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(const auto known, KnownRows(shard));
    if (known.has_value()) return *known;
    ARROW_ASSIGN_OR_RAISE(const auto tokens, open_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, CountAll(tokens, context));
    return rows_.Remember(shard, rows);
  }

  Result<Blocks> ListBlocks(size_t shard) const override {
    if (auto told = ToldBlocks(shard); told.has_value()) return *std::move(told);
    ARROW_ASSIGN_OR_RAISE(const auto tokens, open_.Open(shard, true));
    const TokenFile& file = *tokens->file;
    Blocks blocks;
    blocks.count = file.num_blocks();
    if (!file.FirstRow(blocks.count).has_value()) {
      blocks.bytes = kChunkBytes;
      return blocks;
    }
    for (int64_t i = 0; i <= blocks.count; ++i) blocks.row_starts.push_back(*file.FirstRow(i));
    return blocks;
  }

  Result<Blocks> CountBlocks(size_t shard, const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(Blocks blocks, ListBlocks(shard));
    if (!blocks.row_starts.empty()) return blocks;
    ARROW_ASSIGN_OR_RAISE(const auto tokens, open_.Open(shard, true));
    ARROW_RETURN_NOT_OK(CountAll(tokens, context).status());
    for (int64_t i = 0; i <= blocks.count; ++i) {
      blocks.row_starts.push_back(tokens->counted.At(i).row);
    }
    return blocks;
  }

  nlohmann::json Describe() const override {
    auto out = files().Describe("tokens");
    out["format"] = format_ == TokenFormat::kNpy ? "npy" : "bin";
    options_.Describe(&out);
    if (auto indexes = DescribeIndexes(); !indexes.empty()) out["indexes"] = std::move(indexes);
    return out;
  }

 private:
  /// What tells the indexes from others of their names, which follow from those of the files.
  nlohmann::json DescribeIndexes() const {
    std::vector<files::FileInfo> indexes;
    for (const files::FileInfo& file : files().files()) {
      if (file.index != nullptr) indexes.push_back(*file.index);
    }
    if (indexes.empty()) return {};
    nlohmann::json out = FileList::Make(std::move(indexes)).ValueOrDie().Describe("tokens");
    for (const char* name : {"kind", "files", "names", "revisions"}) out.erase(name);
    return out;
  }

  const TokenFormat format_;
  const TokenFileOptions options_;
  mutable OpenFiles<CountedTokens> open_;
  mutable RowCounts rows_;
};

Result<std::shared_ptr<const Source>> MakeByOptions(std::vector<files::FileInfo> files,
                                                    TokenFormat format,
                                                    const nlohmann::json& options) {
  ARROW_ASSIGN_OR_RAISE(const auto said, TokenFileOptions::Of(options));
  return MakeTokenSource(std::move(files), format, said);
}

constexpr DataFormat::Options kTokenOptions = {"dtype", "document_eos", "row_tokens"};

}  // namespace

Result<std::shared_ptr<const Source>> MakeTokenSource(std::vector<files::FileInfo> files,
                                                      TokenFormat format,
                                                      const TokenFileOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  return std::make_shared<const TokenSource>(std::move(list), format, options);
}

constinit const DataFormat kBinFormat = {
    .name = "bin",
    .kind = "bin",
    .suffixes = {".bin", ".idx"},
    .options = kTokenOptions,
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json& options) {
      return MakeByOptions(std::move(files), TokenFormat::kBin, options);
    }};

constinit const DataFormat kNpyFormat = {
    .name = "npy",
    .kind = "npy",
    .suffixes = {".npy"},
    .options = kTokenOptions,
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json& options) {
      return MakeByOptions(std::move(files), TokenFormat::kNpy, options);
    }};

}  // namespace easydata::source
