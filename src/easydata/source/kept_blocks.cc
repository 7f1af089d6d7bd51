#include "easydata/source/kept_blocks.h"

#include <arrow/record_batch.h>

#include <utility>
#include <vector>

#include "easydata/exec/exception_status.h"
#include "easydata/source/shard_error.h"
#include "easydata/stream/row_error.h"

namespace easydata::source {
namespace {

struct KeptBlockReader {
  std::shared_ptr<const Source> source;
  ReadOptions options;
  std::shared_ptr<arrow::Schema> schema;
  ReadContext context;
  std::shared_ptr<PieceMaker> maker;
  BlockKeeping keeping;
  const std::atomic<bool>* cancelled;

  /// The pieces of a block, all of which are kept.
  std::vector<PieceTask> TasksOf(const std::vector<std::pair<PieceId, PieceFacts>>& kept,
                                 const KeptPieces& pieces,
                                 const std::shared_ptr<const OpenPart>& part,
                                 const Blocks& blocks) const {
    std::vector<PieceTask> tasks;
    for (const auto& [piece, facts] : kept) {
      BlockTask task;
      task.next_piece = facts.next_piece;
      task.decode = [this, shard = part->shard, blocks, piece = piece] {
        return ReadPiece(*source, shard, blocks, piece, options, schema, context);
      };
      tasks.push_back({part, std::nullopt, std::move(task), pieces.KeyOf(piece)});
    }
    return tasks;
  }

  /// Makes a piece, whose rows go on from `row`.
  Result<Batch> Made(PieceTask task, int64_t* row) const {
    const auto ref = task.part->ref;
    ARROW_ASSIGN_OR_RAISE(PieceRows made, maker->Make(std::move(task), cancelled));
    const DecodedBlock& block = made.block;
    if (!made.op_error.ok()) return ShiftRowError(made.op_error, *row);
    if (block.stopped.has_value()) {
      return RowError({ref, *row + block.stopped->row, -1}, block.stopped->message);
    }
    if (!block.broken.ok()) return ShardError(block.broken, ref, *row + block.num_rows);
    made.batch.addresses.ShiftRows(*row);
    *row += block.num_rows;
    return std::move(made.batch);
  }

  Result<Batch> Read(const std::shared_ptr<const ShardRef>& ref, size_t shard, const Blocks& blocks,
                     int64_t block) const {
    KeptPieces pieces(source, keeping);
    if (!pieces.Enter(shard)) return Status::NotImplemented("nothing is kept of it");
    const auto part = std::make_shared<OpenPart>();
    part->ref = ref;
    part->shard = shard;
    int64_t row = blocks.row_starts[block];
    std::vector<Batch> parts;
    if (const auto kept = pieces.OfBlock(block); kept.has_value()) {
      for (PieceTask& task : TasksOf(*kept, pieces, part, blocks)) {
        ARROW_ASSIGN_OR_RAISE(parts.emplace_back(), Made(std::move(task), &row));
      }
    } else {
      ReadOptions of_block = options;
      if (blocks.count > 1) of_block.end_at = block + 1;
      ARROW_ASSIGN_OR_RAISE(
          auto reader, source->Open(shard, StartOfBlock(blocks, block), of_block, schema, context));
      ARROW_RETURN_NOT_OK(reader->Start().status());
      PieceId expected{block, 0};
      for (;;) {
        ARROW_ASSIGN_OR_RAISE(auto task, reader->Next());
        if (!task.has_value()) break;
        PieceTask next{part, std::nullopt, std::move(*task)};
        if (next.task.piece.has_value()) {
          next.key = pieces.KeyOf(*next.task.piece);
          const int64_t found = next.task.piece->piece;
          if (found != expected.piece) pieces.NoteGap(expected, found);
        }
        expected.piece = next.task.next_piece;
        ARROW_ASSIGN_OR_RAISE(parts.emplace_back(), Made(std::move(next), &row));
      }
      if (expected.piece != kNoMorePieces) pieces.NoteGap(expected);
    }
    if (row != blocks.row_starts[block + 1]) {
      return Status::IOError(ref->shard, ": block ", block, " has other rows than were counted");
    }
    return ConcatenateBatches(parts);
  }
};

}  // namespace

BlockReader ReadsKeptBlocksOf(std::shared_ptr<const Source> source, ReadOptions options,
                              std::shared_ptr<arrow::Schema> schema, ReadContext context,
                              std::shared_ptr<PieceMaker> maker, BlockKeeping keeping,
                              const std::atomic<bool>* cancelled) {
  auto reader = std::make_shared<const KeptBlockReader>(
      KeptBlockReader{std::move(source), std::move(options), std::move(schema), std::move(context),
                      std::move(maker), std::move(keeping), cancelled});
  return [reader](const std::shared_ptr<const ShardRef>& ref, size_t shard, const Blocks& blocks,
                  int64_t block) {
    return exec::CatchExceptions([&] { return reader->Read(ref, shard, blocks, block); });
  };
}

}  // namespace easydata::source
