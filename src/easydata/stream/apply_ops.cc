#include "easydata/stream/apply_ops.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/stream/piecewise_op.h"
#include "easydata/stream/row_error.h"

namespace easydata {
namespace {

using Ops = std::vector<std::shared_ptr<const BatchOp>>;

/// Applies the ops from number `first` on.
Result<Batch> ApplyFrom(size_t first, const Ops& ops, Batch batch, BusyTimes* busy) {
  auto begin = std::chrono::steady_clock::now();
  for (size_t i = first; i < ops.size(); ++i) {
    auto applied = exec::CatchExceptions([&] { return ops[i]->Apply(std::move(batch)); });
    const auto end = std::chrono::steady_clock::now();
    busy->Add(ops[i]->name(), end - begin);
    begin = end;
    ARROW_ASSIGN_OR_RAISE(batch, std::move(applied));
  }
  return batch;
}

/// Rows of `addresses` before the row that the error is about; 0 where it is not about one of them.
int64_t RowsBefore(const Addresses& addresses, const Status& error) {
  const Address* bad = RowErrorAddress(error);
  if (bad == nullptr) return 0;
  int64_t before = 0;
  for (const Addresses::Run& run : addresses.runs()) {
    if (run.shard == bad->shard && run.row <= bad->row && bad->row < run.row + run.count) {
      return before + bad->row - run.row;
    }
    before += run.count;
  }
  return 0;
}

/// What the ops made of `input`; where that is an error, what they make of the rows before it.
AppliedBatch WithRowsBefore(const Ops& ops, const Batch& input, Result<Batch> out,
                            BusyTimes* busy) {
  if (out.ok()) return {std::move(*out), Status::OK(), 0};
  Status error = out.status();
  if (error.IsOutOfMemory() && RowErrorAddress(error) == nullptr && input.num_rows() > 0) {
    const char* const which = input.num_rows() == 1 ? "" : "(or one after it) ";
    error = RowError(input.addresses.At(0), which + error.message(), error.code());
  }
  const int64_t before = RowsBefore(input.addresses, error);
  auto rest = ApplyFrom(0, ops, input.Slice(0, before), busy);
  // The rows before are not known: the error comes alone.
  if (!rest.ok()) return {Batch{}, error, 0};
  return {std::move(*rest), error, before};
}

}  // namespace

AppliedBatch ApplyOps(const Ops& ops, Batch batch, BusyTimes* busy) {
  const Batch input = batch;
  return WithRowsBefore(ops, input, ApplyFrom(0, ops, std::move(batch), busy), busy);
}

std::vector<AppliedBatch> ApplyOpsToPieces(const Ops& ops, std::vector<Batch> pieces,
                                           BusyTimes* busy) {
  std::vector<AppliedBatch> out;
  const PiecewiseOp* const first = ops.empty() ? nullptr : ops[0]->piecewise();
  if (first == nullptr) {
    for (Batch& piece : pieces) {
      out.push_back(ApplyOps(ops, std::move(piece), busy));
      if (!out.back().error.ok()) break;
    }
    return out;
  }
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Result<Batch>> made = first->ApplyEach(pieces);
  busy->Add(first->name(), std::chrono::steady_clock::now() - begin);
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].ok()) made[i] = ApplyFrom(1, ops, std::move(*made[i]), busy);
    out.push_back(WithRowsBefore(ops, pieces[i], std::move(made[i]), busy));
    if (!out.back().error.ok()) break;
  }
  return out;
}

namespace {

bool HaveOneParent(const Address& a, const Address& b) {
  return a.shard == b.shard && a.row == b.row;
}

/// Joins what came of pieces, up to the first that has an error.
Result<AppliedBatch> Joined(std::vector<AppliedBatch> pieces) {
  AppliedBatch out;
  std::vector<Batch> batches;
  for (AppliedBatch& piece : pieces) {
    out.error = std::move(piece.error);
    if (piece.batch.rows != nullptr) batches.push_back(std::move(piece.batch));
  }
  if (!batches.empty()) {
    ARROW_ASSIGN_OR_RAISE(out.batch, ConcatenateBatches(batches));
  }
  return out;
}

}  // namespace

int64_t EndOfPiece(const PiecewiseOp& op, const Batch& batch, int64_t begin) {
  constexpr int64_t kRows = PiecewiseOp::kPieceRows;
  const int64_t rows = batch.num_rows();
  int64_t end = std::min((begin / kRows + 1) * kRows, rows);
  if (!op.joins_parts() || batch.addresses.size() == 0) return end;
  while (end < rows && HaveOneParent(batch.addresses.At(end - 1), batch.addresses.At(end))) {
    ++end;
  }
  return end;
}

AppliedBatch ApplyOpsToWhole(const Ops& ops, Batch batch, BusyTimes* busy) {
  AppliedBatch out{std::move(batch), Status::OK(), 0};
  for (size_t begin = 0; begin < ops.size() && out.batch.rows != nullptr;) {
    size_t end = begin + 1;
    while (end < ops.size() && ops[end]->piecewise() == nullptr) ++end;
    const Ops together(ops.begin() + static_cast<std::ptrdiff_t>(begin),
                       ops.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<Batch> pieces;
    if (const PiecewiseOp* const op = ops[begin]->piecewise(); op != nullptr) {
      for (int64_t row = 0; row < out.batch.num_rows();) {
        const int64_t end_row = EndOfPiece(*op, out.batch, row);
        pieces.push_back(out.batch.Slice(row, end_row - row));
        row = end_row;
      }
    }
    if (pieces.empty()) pieces.push_back(std::move(out.batch));
    auto joined = exec::CatchExceptions(
        [&] { return Joined(ApplyOpsToPieces(together, std::move(pieces), busy)); });
    if (!joined.ok()) return {Batch{}, joined.status(), 0};
    // An error of rows that come earlier replaces one that was there.
    if (joined->error.ok()) joined->error = std::move(out.error);
    out = std::move(*joined);
    begin = end;
  }
  return out;
}

bool AllKeepRows(const Ops& ops) {
  return std::all_of(ops.begin(), ops.end(), [](const auto& op) { return op->keeps_rows(); });
}

}  // namespace easydata
