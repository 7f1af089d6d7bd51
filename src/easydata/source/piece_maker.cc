#include "easydata/source/piece_maker.h"

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <chrono>
#include <utility>

#include "easydata/base/machine_memory.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/source/text_check.h"
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/no_rows.h"

namespace easydata::source {
namespace {

/// Blocks with more bytes are rare: they have giant rows.
constexpr int64_t kGiantBlock = 6 << 20;

}  // namespace

Status PieceMaker::Add(std::shared_ptr<const BatchOp> op) {
  ARROW_ASSIGN_OR_RAISE(schema_, op->OutputSchema(schema_));
  ops_.push_back(std::move(op));
  return Status::OK();
}

Status PieceMaker::Keep(const Ops& ops, const BlockKeeping& keeping) {
  // Who measures or counts rows comes behind the ops that are there.
  const bool is_behind = keeping.with_row_bytes || keeping.limit != nullptr;
  measured_op_ = is_behind ? std::ssize(ops_) : 0;
  for (const auto& op : ops) ARROW_RETURN_NOT_OK(Add(op));
  end_kept_op_ = std::ssize(ops_);
  kept_schema_ = schema_;
  keeping_ = keeping;
  return Status::OK();
}

Result<PieceRows> PieceMaker::Make(PieceTask piece, const std::atomic<bool>* cancelled) {
  PieceRows made{piece.part, piece.start, piece.task.next_at, piece.task.next_skip, {}, {}, {}};
  made.file_bytes = piece.task.file_bytes;
  if (keeping_.limit != nullptr) made.task = piece.task;
  std::unique_ptr<BlockStore::Claim> claim;
  if (piece.key.has_value()) {
    const auto begin = std::chrono::steady_clock::now();
    const exec::StopScope stopping(cancelled);
    ARROW_ASSIGN_OR_RAISE(auto found, keeping_.store->Find(*piece.key, kept_schema_));
    busy_.Add("cache", std::chrono::steady_clock::now() - begin);
    if (found.block.has_value() && TakeKept(std::move(*found.block), piece, &made)) {
      Apply(ops_.begin() + end_kept_op_, ops_.end(), &made);
      return made;
    }
    claim = std::move(found.claim);
  }
  ARROW_RETURN_NOT_OK(Decode(piece, &made));
  const bool is_giant = arrow::util::TotalBufferSize(*made.batch.rows) > kGiantBlock;
  if (keeping_.store != nullptr) {
    Apply(ops_.begin(), ops_.begin() + measured_op_, &made);
    Measure(&made);
    Apply(ops_.begin() + measured_op_, ops_.begin() + end_kept_op_, &made);
    if (claim != nullptr) Put(piece, made, claim.get());
    if (!keeping_.with_row_bytes) made.batch.row_bytes = nullptr;
  }
  Apply(ops_.begin() + end_kept_op_, ops_.end(), &made);
  if (is_giant) ReturnFreeMemory();
  return made;
}

Status PieceMaker::Decode(const PieceTask& piece, PieceRows* made) {
  const auto begin = std::chrono::steady_clock::now();
  auto block = exec::CatchExceptions([&]() -> Result<DecodedBlock> {
    ARROW_ASSIGN_OR_RAISE(DecodedBlock decoded, piece.task.decode());
    if (source_->has_unchecked_text()) ARROW_RETURN_NOT_OK(CheckText(on_error_, &decoded));
    return decoded;
  });
  // The rows' addresses are not known here: the consumer adds them.
  if (!block.ok()) {
    made->block.broken = block.status();
    ARROW_ASSIGN_OR_RAISE(made->batch.rows, NoRows(source_schema_));
  } else {
    made->block = std::move(*block);
    made->batch.rows = std::move(made->block.rows);
    for (const auto& [first, count] : made->block.runs) {
      made->batch.addresses.Append(piece.part->ref, first, -1, count);
    }
  }
  busy_.Add("read", std::chrono::steady_clock::now() - begin);
  return Status::OK();
}

/// Applies some of the ops to the rows that there are. Rows before one that has an error are left;
/// so an error of a later op, of an earlier row, replaces one that was there.
void PieceMaker::Apply(Index begin, Index end, PieceRows* made) {
  if (begin == end || made->batch.rows == nullptr) return;
  const auto row_bytes = made->batch.row_bytes;
  AppliedBatch applied = ApplyOpsToWhole(Ops(begin, end), std::move(made->batch), &busy_);
  made->batch = std::move(applied.batch);
  if (!applied.error.ok()) made->op_error = std::move(applied.error);
  if (row_bytes != nullptr && std::ssize(*row_bytes) == made->batch.num_rows()) {
    made->batch.row_bytes = row_bytes;
  }
}

Result<PieceRows> PieceMaker::MakeFirst(PieceRows whole, int64_t rows) {
  PieceTask piece{whole.part, whole.start, *std::move(whole.task)};
  PieceRows made{piece.part, piece.start, piece.task.next_at, piece.task.next_skip, {}, {}, {}};
  made.file_bytes = piece.task.file_bytes;
  ARROW_RETURN_NOT_OK(Decode(piece, &made));
  Apply(ops_.begin(), ops_.begin() + measured_op_, &made);
  if (made.batch.rows != nullptr) made.batch = made.batch.Slice(0, rows);
  made.read_rows = made.batch.num_rows();
  Apply(ops_.begin() + measured_op_, ops_.end(), &made);
  return made;
}

/// Counts the rows, and notes their bytes where each row stays one.
void PieceMaker::Measure(PieceRows* made) const {
  made->read_rows = made->batch.num_rows();
  const Ops behind(ops_.begin() + measured_op_, ops_.begin() + end_kept_op_);
  if (made->batch.rows == nullptr || !AllKeepRows(behind)) return;
  made->batch.row_bytes =
      std::make_shared<const std::vector<int64_t>>(ContentBytesByRow(*made->batch.rows));
}

/// Keeps what came of a piece, unless something was wrong with it.
void PieceMaker::Put(const PieceTask& piece, const PieceRows& made,
                     BlockStore::Claim* claim) const {
  if (!made.op_error.ok() || made.batch.rows == nullptr) return;
  if (!made.block.broken.ok() || made.block.stopped.has_value()) return;
  MadePiece kept;
  kept.facts = {
      made.block.num_rows,  made.block.num_lines,  piece.task.next_at,
      piece.task.next_skip, piece.task.next_piece,
      /*is_gap=*/false,     made.read_rows,        piece.start.has_value() ? piece.start->line : 0};
  kept.batch = made.batch;
  kept.bad = made.block.bad;
  claim->Put(ToKept(kept));
}

bool PieceMaker::TakeKept(KeptBlock kept, const PieceTask& piece, PieceRows* made) const {
  auto taken = FromKept(std::move(kept), piece.part->ref, keeping_.with_row_bytes);
  if (!taken.has_value()) return false;
  made->batch = std::move(taken->batch);
  made->block.num_rows = taken->facts.num_rows;
  made->block.num_lines = taken->facts.num_lines;
  made->read_rows = taken->facts.read_rows;
  made->block.bad = std::move(taken->bad);
  return true;
}

}  // namespace easydata::source
