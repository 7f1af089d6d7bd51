#include "easydata/source/line_source.h"

#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "easydata/exec/ordered_map.h"
#include "easydata/files/compression.h"
#include "easydata/files/sequential_reads.h"
#include "easydata/source/read_ahead.h"

namespace easydata::source {
namespace {

/// Each worker's own memory for a chunk: read, parsed and filled again. One at a time.
class WorkerBuffer {
 public:
  ~WorkerBuffer() { get()->Release(); }
  ChunkBuffer* get() const {
    thread_local ChunkBuffer buffer;
    return &buffer;
  }
};

struct File {
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  int64_t size = 0;
  int64_t num_chunks() const { return (size + kChunkBytes - 1) / kChunkBytes; }
};

File FileOf(const OpenLines& lines) { return {lines.file, lines.shard->info.size}; }

struct ChunkCount {
  LineCount lines;
  Status broken;  // why nothing after these lines can be read
};

/// Extends the index from its last known chunk until row `row` lies before a chunk's begin, or to
/// the end; returns the rows of the file in the latter case, else -1. A chunk that breaks off is an
/// error unless `row` is of its rows or the one that cannot be read.
Result<int64_t> ExtendIndex(const std::shared_ptr<LineShard>& shard, const File& file, int64_t row,
                            bool skip_blank, const ReadContext& context) {
  int64_t next = shard->index.size() - 1;
  LineIndex::Entry at = shard->index.At(next);
  if (at.row > row) return -1;
  exec::OrderedMap<int64_t, ChunkCount> counts(
      context.pool, 2 * context.pool->num_threads() + 1,
      [k = next, n = file.num_chunks()]() mutable -> Result<std::optional<int64_t>> {
        if (k >= n) return std::nullopt;
        return k++;
      },
      [file, skip_blank, &context](int64_t k) -> Result<ChunkCount> {
        const WorkerBuffer buffer;
        int64_t bytes = 0;
        ChunkCount count;
        ARROW_ASSIGN_OR_RAISE(auto text, ReadLineChunk(file.file.get(), file.size, k, buffer.get(),
                                                       &bytes, &count.broken));
        context.count_bytes(bytes);
        count.lines = CountLines(text, skip_blank);
        return count;
      });
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(auto count, counts.Next());
    if (!count.has_value()) return at.row;
    at.row += count->lines.rows;
    at.line += count->lines.lines;
    if (!count->broken.ok()) return at.row >= row ? Result<int64_t>(-1) : count->broken;
    shard->index.Note(++next, at);
    if (at.row > row) return -1;
  }
}

/// Uncompressed: every chunk is read by the task that decodes it.
class PlainReader : public ShardReader {
 public:
  PlainReader(std::shared_ptr<LineShard> shard, File file, const ShardPosition& from,
              int64_t end_at, bool skip_blank, std::shared_ptr<const LineDecoder> decoder,
              const ReadContext& context)
      : shard_(std::move(shard)),
        file_(std::move(file)),
        position_(from),
        end_(std::min(end_at, file_.num_chunks())),
        skip_blank_(skip_blank),
        decoder_(std::move(decoder)),
        context_(context),
        reads_(file_.file, std::min(file_.size, end_ * kChunkBytes)) {}

  Result<ShardPosition> Start() override {
    if (!position_.exact && position_.row > 0) {
      ARROW_RETURN_NOT_OK(
          ExtendIndex(shard_, file_, position_.row, skip_blank_, context_).status());
      position_.at = shard_->index.Find(position_.row);
      const auto entry = shard_->index.At(position_.at);
      position_.line = entry.line;
      position_.skip = position_.row - entry.row;
      position_.exact = true;
    }
    next_ = position_.at;
    return position_;
  }

  Result<std::optional<BlockTask>> Next() override {
    if (next_ >= end_) return std::nullopt;
    // A byte before the chunk belongs to its reading, see ReadLineChunk().
    if (!context_.is_look) {
      ARROW_RETURN_NOT_OK(reads_.At(std::max<int64_t>(next_ * kChunkBytes - 1, 0)));
    }
    const int64_t skip = next_ == position_.at ? position_.skip : 0;
    BlockTask task;
    task.decode = [file = file_, k = next_, skip, decoder = decoder_,
                   count = context_.count_bytes]() -> Result<DecodedBlock> {
      const WorkerBuffer buffer;
      int64_t bytes = 0;
      Status broken;
      ARROW_ASSIGN_OR_RAISE(
          auto text, ReadLineChunk(file.file.get(), file.size, k, buffer.get(), &bytes, &broken));
      count(bytes);
      auto block = decoder->Decode(text, skip);
      if (block.ok() && block->broken.ok()) block->broken = std::move(broken);
      return block;
    };
    if (skip == 0) task.piece = PieceId{next_, 0};
    task.next_at = ++next_;
    task.file_bytes = std::min(next_ * kChunkBytes, file_.size);
    return task;
  }

 private:
  const std::shared_ptr<LineShard> shard_;
  const File file_;
  ShardPosition position_;
  const int64_t end_;
  const bool skip_blank_;
  const std::shared_ptr<const LineDecoder> decoder_;
  const ReadContext context_;
  files::SequentialReads reads_;
  int64_t next_ = 0;
};

struct CutChunk {
  std::vector<char> text;
  int64_t size = 0;
  int64_t number = 0;
  int64_t file_bytes = -1;  // BlockTask's
};

/// Compressed: one task at a time decompresses, as many as there are decode.
class CompressedReader : public ShardReader {
 public:
  CompressedReader(const OpenLines& lines, const ShardPosition& from, bool skip_blank,
                   std::shared_ptr<const LineDecoder> decoder, const ReadContext& context)
      : lines_(lines),
        position_(from),
        skip_blank_(skip_blank),
        decoder_(std::move(decoder)),
        context_(context) {}

  Result<ShardPosition> Start() override {
    ARROW_ASSIGN_OR_RAISE(
        auto stream, files::ReadDecompressed(lines_.file, lines_.shard->codec,
                                             context_.is_look ? files::MemberCheck::kAtEnd
                                                              : files::MemberCheck::kBeforeUse));
    auto cutter = std::make_shared<LineCutter>(stream);
    const int64_t first = position_.exact ? position_.at : 0;
    ahead_ = std::make_unique<ReadAhead<CutChunk>>(
        context_.pool, 2,
        [cutter, stream, k = int64_t{0}, first,
         count = context_.count_bytes]() mutable -> Result<std::optional<CutChunk>> {
          for (;;) {
            CutChunk chunk;
            chunk.number = k++;
            ARROW_ASSIGN_OR_RAISE(const bool more, cutter->Next(&chunk.text, &chunk.size));
            if (!more) return std::nullopt;
            count(chunk.size);
            chunk.file_bytes = files::FilePosition(*stream);
            // Nothing before the position is handed out, but all of it must be decompressed.
            if (chunk.number >= first) return chunk;
          }
        });
    if (!position_.exact) {
      ARROW_RETURN_NOT_OK(FindRow());
      position_.exact = true;
    }
    return position_;
  }

  Result<std::optional<BlockTask>> Next() override {
    int64_t skip = 0;
    if (!started_) {
      started_ = true;
      skip = position_.skip;
    }
    std::optional<CutChunk> chunk = std::exchange(found_, std::nullopt);
    if (!chunk.has_value()) {
      ARROW_ASSIGN_OR_RAISE(chunk, ahead_->Next());
      if (!chunk.has_value()) return std::nullopt;
    }
    BlockTask task;
    task.next_at = task.next_piece = chunk->number + 1;
    task.file_bytes = chunk->file_bytes;
    if (skip == 0) task.piece = PieceId{0, chunk->number};
    auto held = std::make_shared<CutChunk>(std::move(*chunk));
    task.decode = [held, skip, decoder = decoder_] {
      return decoder->Decode({held->text.data(), static_cast<size_t>(held->size)}, skip);
    };
    return task;
  }

  void Cancel() override {
    if (ahead_ != nullptr) ahead_->Cancel();
  }

 private:
  Status FindRow() {
    int64_t row = 0;
    while (row < position_.row || position_.row == 0) {
      if (position_.row == 0) return Status::OK();
      ARROW_ASSIGN_OR_RAISE(auto chunk, ahead_->Next());
      if (!chunk.has_value()) return Status::OK();
      const LineCount count =
          CountLines({chunk->text.data(), static_cast<size_t>(chunk->size)}, skip_blank_);
      if (row + count.rows > position_.row) {
        position_.skip = position_.row - row;
        found_ = std::move(chunk);
        return Status::OK();
      }
      row += count.rows;
      position_.line += count.lines;
    }
    return Status::OK();
  }

  const OpenLines lines_;
  ShardPosition position_;
  const bool skip_blank_;
  const std::shared_ptr<const LineDecoder> decoder_;
  const ReadContext context_;
  std::unique_ptr<ReadAhead<CutChunk>> ahead_;
  std::optional<CutChunk> found_;
  bool started_ = false;
};

}  // namespace

Result<DecodedBlock> LineDecoder::LinesBefore(std::string_view text, int64_t skip,
                                              const Status& error) const {
  if (text.empty()) return error;
  ARROW_ASSIGN_OR_RAISE(auto block, Decode(text, skip));
  if (block.broken.ok()) block.broken = error;
  return block;
}

Result<std::unique_ptr<ShardReader>> OpenLineReader(OpenLines lines, const ShardPosition& from,
                                                    int64_t end_at, bool skip_blank,
                                                    std::shared_ptr<const LineDecoder> decoder,
                                                    const ReadContext& context) {
  if (!lines.shard->codec.is_none()) {
    return std::make_unique<CompressedReader>(lines, from, skip_blank, std::move(decoder), context);
  }
  return std::make_unique<PlainReader>(lines.shard, FileOf(lines), from, end_at, skip_blank,
                                       std::move(decoder), context);
}

Result<int64_t> CountLineRows(const OpenLines& lines, bool skip_blank, const ReadContext& context) {
  const std::shared_ptr<LineShard>& shard = lines.shard;
  {
    std::lock_guard<std::mutex> lock(shard->mutex);
    if (shard->num_rows >= 0) return shard->num_rows;
  }
  int64_t rows = 0;
  if (shard->codec.is_none()) {
    ARROW_ASSIGN_OR_RAISE(
        rows, ExtendIndex(shard, FileOf(lines), std::numeric_limits<int64_t>::max(), skip_blank,
                          context));
  } else {
    ARROW_ASSIGN_OR_RAISE(auto stream, files::ReadDecompressed(lines.file, shard->codec));
    LineCutter cutter(std::move(stream));
    std::vector<char> text;
    int64_t size = 0;
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(const bool more, cutter.Next(&text, &size));
      if (!more) break;
      context.count_bytes(size);
      rows += CountLines({text.data(), static_cast<size_t>(size)}, skip_blank).rows;
    }
  }
  std::lock_guard<std::mutex> lock(shard->mutex);
  shard->num_rows = rows;
  return rows;
}

Result<Blocks> ListLineBlocks(const LineShard& shard) {
  Blocks blocks;
  if (!shard.codec.is_none()) return blocks;
  blocks.count = File{nullptr, shard.info.size}.num_chunks();
  blocks.bytes = kChunkBytes;
  return blocks;
}

Result<Blocks> CountLineBlocks(const OpenLines& lines, bool skip_blank,
                               const ReadContext& context) {
  ARROW_ASSIGN_OR_RAISE(Blocks blocks, ListLineBlocks(*lines.shard));
  ARROW_ASSIGN_OR_RAISE(const int64_t rows, CountLineRows(lines, skip_blank, context));
  for (int64_t k = 0; k < blocks.count; ++k) {
    blocks.row_starts.push_back(k == 0 ? 0 : lines.shard->index.At(k).row);
  }
  blocks.row_starts.push_back(rows);
  return blocks;
}

}  // namespace easydata::source
