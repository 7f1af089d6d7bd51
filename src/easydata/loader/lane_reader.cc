#include "easydata/loader/lane_reader.h"

#include <arrow/record_batch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/slices.h"

namespace easydata::loader {
namespace {

Status Closed() { return Status::Cancelled("the loader was closed"); }

}  // namespace

void LaneReader::Start(const LanePosition& position) {
  position_ = position;
  context_.epoch = position.epoch;
  if (passes_.has_value()) last_epoch_ = (position.epoch / *passes_ + 1) * *passes_ - 1;
  cursor_ = position.cursor;
  skip_ = position.skip;
  pass_has_rows_ = !cursor_.empty();  // as far as is known
}

void LaneReader::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (stage_ != nullptr) stage_->Cancel();
}

StageStats LaneReader::stats() const {
  StageStats stats = finished_;
  stats.read = passes_.has_value() ? last_read_ : ReadShare::Unknown();
  if (stage_ != nullptr) {
    const StageStats now = stage_->stats();
    stats.read = {};
    stats.AddUpstream(now);
    stats.rows += now.rows;
    if (!passes_.has_value()) stats.read = ReadShare::Unknown();
  }
  // Of all passes up to their end; position_ may be in one before.
  const int64_t before = passes_.has_value() ? context_.epoch % *passes_ : 0;
  stats.read.done += static_cast<double>(before) * stats.read.whole;
  stats.read.whole *= static_cast<double>(passes_.value_or(1));
  return stats;
}

Status LaneReader::OpenPass() {
  ARROW_ASSIGN_OR_RAISE(auto stage, plan_.make(context_));
  if (cursor_.empty()) {
    cursor_ = stage->Save();
  } else {
    ARROW_RETURN_NOT_OK(RestoreSaved(cursor_, stage.get()));
  }
  std::lock_guard<std::mutex> lock(mutex_);
  stage_ = std::move(stage);
  return cancelled_ ? Closed() : Status::OK();
}

Status LaneReader::EndPass() {
  if (skip_ > 0) {
    return Status::Invalid("the stream ends before the saved position: its data changed since; ",
                           "resume with the data it was saved with; it ends ", skip_,
                           " rows before it");
  }
  const StageStats now = stage_->stats();
  finished_.AddUpstream(now);
  last_read_ = now.read;
  std::unique_ptr<Stage> old;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    old = std::move(stage_);
  }
  ended_ = context_.epoch == last_epoch_;
  if (ended_) return Status::OK();
  if (!last_epoch_.has_value() && !pass_has_rows_) {
    return Status::Invalid("the stream is to be repeated up to the last step, but it has no rows; ",
                           "look at what filters its rows out", context_.OrFewerLanes());
  }
  ++context_.epoch;
  last_read_.done = 0;
  cursor_ = {};
  pass_has_rows_ = false;
  return Status::OK();
}

Result<bool> LaneReader::Pull() {
  if (ended_) return false;
  if (stage_ == nullptr) ARROW_RETURN_NOT_OK(OpenPass());
  ARROW_ASSIGN_OR_RAISE(auto batch, stage_->Next());
  if (!batch.has_value()) {
    ARROW_RETURN_NOT_OK(EndPass());
    return !ended_;
  }
  pass_has_rows_ = pass_has_rows_ || batch->num_rows() > 0;
  Piece piece;
  piece.epoch = context_.epoch;
  piece.before = std::exchange(cursor_, stage_->Save());
  piece.after = cursor_;
  piece.used = std::min(skip_, batch->num_rows());
  // Rows before those to skip were handed out, and what was dropped before them was counted.
  piece.counted = skip_ > 0;
  skip_ -= piece.used;
  available_ += batch->num_rows() - piece.used;
  piece.batch = std::move(*batch);
  pieces_.push_back(std::move(piece));
  return true;
}

Result<int64_t> LaneReader::Hold(int64_t rows) {
  while (available_ < rows) {
    ARROW_ASSIGN_OR_RAISE(const bool more, Pull());
    if (!more) break;
  }
  return std::min(available_, rows);
}

std::vector<Batch> LaneReader::Take(int64_t rows, TokenCounts* counts) {
  std::vector<Batch> parts;
  for (int64_t row = 0; row < rows;) {
    Piece& piece = pieces_.front();
    const int64_t left = piece.batch.num_rows() - piece.used;
    const int64_t take = std::min(left, rows - row);
    if (!piece.counted) counts->AddDropped(piece.batch);
    piece.counted = true;
    if (take > 0) parts.push_back(piece.batch.Slice(piece.used, take));
    row += take;
    piece.used += take;
    position_.watermark = piece.batch.watermark.At(piece.used);
    position_.epoch = piece.epoch;
    if (take == left) {
      position_.cursor = piece.after;
      position_.skip = 0;
      pieces_.pop_front();
    } else {
      position_.cursor = piece.before;
      position_.skip = piece.used;
    }
  }
  available_ -= rows;
  return JoinSlices(std::move(parts));
}

Status LaneReader::Finish(TokenCounts* counts) {
  for (bool more = true; more;) {
    for (const Piece& piece : pieces_) {
      if (!piece.counted) counts->AddDropped(piece.batch);
      counts->AddDroppedRows(piece.batch, piece.used, piece.batch.num_rows(), "drop_last");
    }
    pieces_.clear();
    ARROW_ASSIGN_OR_RAISE(more, Pull());
  }
  available_ = 0;
  position_ = {};
  position_.epoch = context_.epoch + 1;
  return Status::OK();
}

}  // namespace easydata::loader
