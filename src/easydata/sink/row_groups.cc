#include "easydata/sink/row_groups.h"

#include <arrow/record_batch.h>

#include <algorithm>
#include <utility>

#include "easydata/stream/gather_rows.h"

namespace easydata::sink {

void DropTotals::Add(const std::vector<DropCount>& dropped) {
  for (const DropCount& count : dropped) {
    rows[count.reason] += count.rows;
    if (count.tokens != 0) tokens[count.reason] += count.tokens;
    for (const Address& address : count.addresses) {
      std::vector<std::string>& all = addresses[count.reason];
      if (all.size() < DropCount::kMostAddresses) all.push_back(address.ToString());
    }
  }
}

void DropTotals::Add(const DropTotals& later) {
  for (const auto& [reason, count] : later.rows) rows[reason] += count;
  for (const auto& [reason, count] : later.tokens) tokens[reason] += count;
  for (const auto& [reason, those] : later.addresses) {
    std::vector<std::string>& all = addresses[reason];
    for (const std::string& address : those) {
      if (all.size() < DropCount::kMostAddresses) all.push_back(address);
    }
  }
}

Status RowGroupReader::Restore(const StreamPosition& position) {
  if (!position.cursor.empty()) {
    ARROW_RETURN_NOT_OK(RestoreSaved(position.cursor, stage_));
    cursor_ = position.cursor;
  }
  skip_ = position.skip;
  dropped_ = position.dropped;
  return Status::OK();
}

Result<bool> RowGroupReader::Pull() {
  if (ended_) return false;
  if (cursor_.empty()) cursor_ = stage_->Save();
  ARROW_ASSIGN_OR_RAISE(auto batch, stage_->Next());
  if (!batch.has_value()) {
    if (skip_ > 0) {
      return Status::Invalid("the stream ends ", skip_,
                             " rows before the position at which it was to be gone on with");
    }
    ended_ = true;
    return false;
  }
  Piece piece;
  piece.before = std::exchange(cursor_, stage_->Save());
  piece.after = cursor_;
  piece.used = std::min(skip_, batch->num_rows());
  if (!limits_.exact_rows) piece.bytes = ContentBytesByRow(*batch->rows);
  piece.batch = std::move(*batch);
  skip_ -= piece.used;
  if (piece.used == piece.batch.num_rows()) {
    const auto& dropped = piece.batch.dropped;
    pending_.insert(pending_.end(), dropped.begin(), dropped.end());
    return true;
  }
  piece.dropped_before = std::exchange(pending_, {});
  pieces_.push_back(std::move(piece));
  return true;
}

Result<std::vector<Batch>> RowGroupReader::Peek(int64_t rows) {
  int64_t have = 0;
  for (const Piece& piece : pieces_) have += piece.batch.num_rows() - piece.used;
  while (rows < 0 || have < rows) {
    const size_t before = pieces_.size();
    ARROW_ASSIGN_OR_RAISE(const bool more, Pull());
    if (!more) break;
    if (pieces_.size() > before) have += pieces_.back().batch.num_rows() - pieces_.back().used;
  }
  std::vector<Batch> out;
  for (const Piece& piece : pieces_) {
    const int64_t there = piece.batch.num_rows() - piece.used;
    const int64_t take = rows < 0 ? there : std::min(there, rows);
    if (take == 0) break;
    out.push_back(piece.batch.Slice(piece.used, take));
    if (rows >= 0) rows -= take;
  }
  return out;
}

Result<RowGroupReader::Ahead> RowGroupReader::CountAhead(int64_t rows, int64_t bytes) {
  Ahead ahead;
  for (size_t i = 0;; ++i) {
    while (i == pieces_.size()) {
      ARROW_ASSIGN_OR_RAISE(const bool more, Pull());
      if (!more) return Ahead{ahead.rows, true};
    }
    // Row by row: how rows arrive must not decide.
    const Piece& piece = pieces_[i];
    const std::vector<int64_t> sizes = ContentBytesByRow(*piece.batch.rows);
    for (int64_t row = piece.used; row < piece.batch.num_rows(); ++row) {
      if (ahead.rows == rows || bytes <= 0) return ahead;
      ++ahead.rows;
      bytes -= sizes[row];
    }
  }
}

void RowGroupReader::SetGroupRows(int64_t rows, int64_t longer) {
  limits_.rows = rows;
  limits_.exact_rows = true;
  limits_.multiple = 1;
  longer_ = longer;
}

bool RowGroupReader::IsFull(int64_t rows, int64_t bytes) const {
  if (limits_.shard_rows.has_value() && in_shard_ + rows == *limits_.shard_rows) return true;
  const int64_t wanted = limits_.rows + (longer_ > 0 ? 1 : 0);
  const bool enough = rows >= wanted || (!limits_.exact_rows && bytes >= limits_.bytes);
  return enough && rows % limits_.multiple == 0;
}

Result<std::optional<RowGroup>> RowGroupReader::Next() {
  RowGroup group;
  int64_t bytes = 0;
  for (bool full = false; !full;) {
    if (pieces_.empty()) {
      ARROW_ASSIGN_OR_RAISE(const bool more, Pull());
      if (!more) break;
      continue;
    }
    Piece& piece = pieces_.front();
    dropped_.Add(std::exchange(piece.dropped_before, {}));
    const int64_t end = piece.batch.num_rows();
    int64_t row = piece.used;
    while (row < end && !full) {
      if (!limits_.exact_rows) bytes += piece.bytes[row];
      ++row;
      ++group.rows;
      full = IsFull(group.rows, bytes);
    }
    const bool whole = piece.used == 0 && row == end;
    group.parts.push_back(whole ? piece.batch : piece.batch.Slice(piece.used, row - piece.used));
    piece.used = row;
    if (row == end) {
      // Not earlier: a run that resumes inside the batch reads it again, perhaps with more rows, as
      // a batch before an error was cut there.
      dropped_.Add(piece.batch.dropped);
      group.next = {piece.after, 0, {}};
      pieces_.pop_front();
    } else {
      group.next = {piece.before, row, {}};
    }
  }
  if (group.rows == 0) {
    dropped_.Add(std::exchange(pending_, {}));
    return std::nullopt;
  }
  if (longer_ > 0) --longer_;
  group.next.dropped = dropped_;
  if (limits_.shard_rows.has_value()) in_shard_ = (in_shard_ + group.rows) % *limits_.shard_rows;
  return group;
}

}  // namespace easydata::sink
