#include "easydata/source/piece_feed.h"

#include <algorithm>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/files/file_system.h"
#include "easydata/source/shard_error.h"

namespace easydata::source {

PieceFeed::PieceFeed(std::shared_ptr<const Source> source, const SourceStageOptions& options,
                     std::unique_ptr<ReadOrder> order, std::shared_ptr<arrow::Schema> schema,
                     const StageContext& context)
    : source_(std::move(source)),
      options_(options),
      context_(context),
      schema_(std::move(schema)),
      order_(std::move(order)) {}

bool PieceFeed::IsLost(const Status& error) const {
  return options_.errors.on_missing != OnError::kRaise && IsOfLostShard(error);
}

void PieceFeed::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (reader_ != nullptr) reader_->Cancel();
}

Result<std::optional<PieceTask>> PieceFeed::Next() {
  // Opening a file may wait for a server.
  const exec::StopScope stopping(&cancelled_);
  if (broken_off_) return std::nullopt;
  for (;;) {
    if (part_ != nullptr && part_->is_lost) {
      DropReader();
      LeaveBlocks();
    }
    if (!queued_.empty()) {
      PieceTask next = std::move(queued_.front());
      queued_.pop_front();
      return next;
    }
    std::optional<ShardPosition> start;
    if (reader_ == nullptr) {
      const bool is_part_done = next_block_ >= end_block_;
      if (is_part_done) {
        ARROW_ASSIGN_OR_RAISE(auto part, order_->Next());
        if (!part.has_value()) return std::nullopt;
        MakePart(*part);
        const auto given = std::exchange(start_, std::nullopt);
        const bool is_at_begin = !given.has_value() || (given->row == 0 && !given->exact);
        part_start_ = given.has_value() ? *given : part->from;
        if (EnterBlocks() && is_at_begin) continue;
      } else if (QueueKept(next_block_, &part_start_)) {
        continue;
      }
      auto opened = OpenReader(is_part_done ? *part_start_ : StartOfBlock(blocks_, next_block_));
      const auto part_start = std::exchange(part_start_, std::nullopt);
      if (IsLost(opened.status())) return Failing(opened.status(), part_start);
      ARROW_RETURN_NOT_OK(opened.status());
      if (part_start.has_value()) start = *opened;
      expected_.reset();
      if (!is_part_done) expected_ = PieceId{next_block_, 0};
      next_block_ = end_block_;
    }
    auto task = exec::CatchExceptions([this] { return reader_->Next(); });
    if (task.status().IsCancelled()) return task.status();
    if (task.ok() && task->has_value()) {
      auto next = TaskOf(std::move(**task), start);
      if (next.has_value()) return next;
      continue;
    }
    DropReader();
    if (task.ok()) {
      NoteEndsBefore(end_block_);
      expected_.reset();
      continue;
    }
    // A block that cannot be read: the consumer knows its row.
    if (!IsLost(task.status())) broken_off_ = true;
    return Failing(task.status(), start);
  }
}

/// What the reader gave; nothing where its whole block is kept and was queued instead.
std::optional<PieceTask> PieceFeed::TaskOf(BlockTask task, std::optional<ShardPosition> start) {
  if (end_block_ == 0 || !task.piece.has_value()) {
    expected_.reset();
    return PieceTask{part_, start, std::move(task)};
  }
  const PieceId piece = *task.piece;
  if (piece.block >= end_block_) return PieceTask{part_, start, std::move(task)};
  NoteEndsBefore(piece.block);
  if (expected_.has_value() && expected_->piece != piece.piece) {
    kept_->NoteGap(*expected_, piece.piece);
  }
  if (piece.piece == 0 && QueueKept(piece.block, &start)) {
    DropReader();
    return std::nullopt;
  }
  expected_ = task.next_piece == kNoMorePieces ? PieceId{piece.block + 1, 0}
                                               : PieceId{piece.block, task.next_piece};
  return PieceTask{part_, start, std::move(task), kept_->KeyOf(piece)};
}

/// Notes that what the reader was expected to give is not there, nor anything of the blocks up to
/// `block`: some have no rows.
void PieceFeed::NoteEndsBefore(int64_t block) {
  if (!expected_.has_value()) return;
  for (; expected_->block < block; expected_ = PieceId{expected_->block + 1, 0}) {
    kept_->NoteGap(*expected_);
  }
}

/// A block that cannot be read.
PieceTask PieceFeed::Failing(const Status& error, std::optional<ShardPosition> start) const {
  BlockTask broken;
  broken.decode = [error]() -> Result<DecodedBlock> { return error; };
  return {part_, start, std::move(broken)};
}

void PieceFeed::MakePart(const ShardPart& part) {
  part_ = std::make_shared<OpenPart>();
  part_->ref = std::make_shared<const ShardRef>(ShardRef{options_.name, part.name});
  order_->Save(&part_->cursor);
  part_->has_relative_rows = part.has_relative_rows;
  part_->shard = part.shard;
  part_->from = part.from;
  part_->end_at = part.end_at;
  if (part.rows.has_value()) part_->num_rows = *part.rows;
  part_->bytes_before = part.bytes_before;
  part_->bytes = part.bytes;
}

std::function<void(int64_t)> PieceFeed::CountBytes() const {
  return [bytes = bytes_read_](int64_t n) { *bytes += n; };
}

Result<ShardPosition> PieceFeed::OpenReader(const ShardPosition& from) {
  const ReadContext context{context_.pool, CountBytes()};
  const ReadOptions read_options{options_.columns, options_.errors.on_error, part_->end_at};
  auto reader = exec::CatchExceptions(
      [&] { return source_->Open(part_->shard, from, read_options, schema_, context); });
  if (!reader.ok()) return ShardError(reader.status(), part_->ref, std::nullopt);
  auto first = exec::CatchExceptions([&] { return (*reader)->Start(); });
  if (!first.ok()) return ShardError(first.status(), part_->ref, std::nullopt);
  part_->is_opened = true;
  if (part_->end_at == kToTheEnd) {
    part_->file_size = source_->KnownBytes(part_->shard).value_or(0);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  reader_ = std::move(*reader);
  if (cancelled_) reader_->Cancel();
  return first;
}

void PieceFeed::DropReader() {
  std::lock_guard<std::mutex> lock(mutex_);
  reader_.reset();
}

/// Finds the blocks of the part, where what comes of them can be kept.
bool PieceFeed::EnterBlocks() {
  LeaveBlocks();
  if (kept_ == nullptr || !kept_->Enter(part_->shard)) return false;
  auto blocks = exec::CatchExceptions(
      [&] { return BlocksOfShard(*source_, part_->shard, options_.errors.on_missing); });
  if (!blocks.ok()) return false;  // who reads the shard tells why
  blocks_ = std::move(*blocks);
  if (blocks_.count > 1) part_->num_blocks = blocks_.count;
  next_block_ = order_->by_block() && blocks_.count > 1 ? part_->from.at : 0;
  end_block_ = std::min(blocks_.count, part_->end_at);
  return true;
}

void PieceFeed::LeaveBlocks() {
  next_block_ = end_block_ = 0;
  expected_.reset();
  queued_.clear();
}

/// Queues the pieces of a block, where all of them are kept, and goes to the next one. `start` is
/// where the part begins, if it begins here.
bool PieceFeed::QueueKept(int64_t block, std::optional<ShardPosition>* start) {
  const auto pieces = kept_->OfBlock(block);
  if (!pieces.has_value()) return false;
  for (const auto& [piece, facts] : *pieces) {
    BlockTask task;
    task.next_at = facts.next_at;
    task.next_skip = facts.next_skip;
    task.next_piece = facts.next_piece;
    // Where it is not kept any more by then.
    task.decode = [source = source_, shard = part_->shard, piece = piece, blocks = blocks_,
                   options = ReadOptions{options_.columns, options_.errors.on_error},
                   schema = schema_, context = ReadContext{nullptr, CountBytes()}] {
      return ReadPiece(*source, shard, blocks, piece, options, schema, context);
    };
    if (start->has_value() && (*start)->line == 0) (*start)->line = facts.first_line;
    queued_.push_back(
        {part_, std::exchange(*start, std::nullopt), std::move(task), kept_->KeyOf(piece)});
  }
  next_block_ = block + 1;
  return true;
}

Status PieceFeed::CountKept(KeptRows* counted) {
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(auto part, order_->Next());
    if (!part.has_value() || counted->rows_left == 0) return Status::OK();
    MakePart(*part);
    const std::string& name = source_->shard_names()[part->shard];
    if (EnterBlocks()) {
      CountKeptBlocks(kept_.get(), part->shard, name, blocks_, next_block_, end_block_, counted);
    } else {
      ++counted->blocks;  // who reads it tells why
      counted->missing.push_back({name, 1});
    }
    LeaveBlocks();
  }
}

}  // namespace easydata::source
