#include "easydata/loader/batch_assembler.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "easydata/loader/row_digest.h"
#include "easydata/sink/column_layout.h"
#include "easydata/stream/stage_timer.h"

namespace easydata {
namespace {

Status Closed() { return Status::Cancelled("the loader was closed"); }

}  // namespace

int64_t StepOptions::SizeOf(int64_t step) const {
  const auto next = rampup.upper_bound(step);
  return next == rampup.begin() ? batch_size : batch_size * std::prev(next)->second;
}

void BatchAssembler::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (stage_ != nullptr) stage_->Cancel();
}

StageStats BatchAssembler::stats() {
  StageStats stats = finished_;
  if (stage_ != nullptr) {
    const StageStats now = stage_->stats();
    stats.AddUpstream(now);
    stats.rows += now.rows;
  }
  stats.wait_seconds["collate"] = collate_seconds_;
  return stats;
}

Status BatchAssembler::OpenPass() {
  StageContext context;
  context.epoch = epoch_;
  context.pool = pool_;
  ARROW_ASSIGN_OR_RAISE(auto stage, plan_.make(context));
  if (cursor_ != nullptr) {
    ARROW_RETURN_NOT_OK(stage->Restore(*cursor_));
  } else {
    auto start = std::make_shared<nlohmann::json>();
    ARROW_RETURN_NOT_OK(stage->Save(start.get()));
    cursor_ = std::move(start);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  stage_ = std::move(stage);
  return cancelled_ ? Closed() : Status::OK();
}

Result<bool> BatchAssembler::Pull() {
  if (ended_) return false;
  if (stage_ == nullptr) ARROW_RETURN_NOT_OK(OpenPass());
  ARROW_ASSIGN_OR_RAISE(auto batch, stage_->Next());
  if (!batch.has_value()) {
    finished_.AddUpstream(stage_->stats());
    std::unique_ptr<Stage> old;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      old = std::move(stage_);
    }
    skip_ = 0;
    ended_ = epoch_ == last_epoch_;
    if (!ended_) {
      ++epoch_;
      cursor_ = nullptr;
    }
    return !ended_;
  }
  auto after = std::make_shared<nlohmann::json>();
  ARROW_RETURN_NOT_OK(stage_->Save(after.get()));
  Piece piece;
  piece.epoch = epoch_;
  piece.before = cursor_;
  piece.after = after;
  piece.used = std::min(skip_, batch->num_rows());
  // Rows before those to skip were handed out, and what was dropped before them was counted.
  piece.counted = skip_ > 0;
  skip_ -= piece.used;
  available_ += batch->num_rows() - piece.used;
  piece.batch = std::move(*batch);
  cursor_ = std::move(after);
  pieces_.push_back(std::move(piece));
  return true;
}

Result<int64_t> BatchAssembler::Fetch() {
  const int64_t size = options_.SizeOf(position_.step);
  while (available_ < size) {
    ARROW_ASSIGN_OR_RAISE(const bool more, Pull());
    if (!more) break;
  }
  const int64_t rows = std::min(available_, size);
  return rows < size && options_.drop_last ? 0 : rows;
}

Result<Assembled> BatchAssembler::Next() {
  StageTimer timer(&collate_seconds_);
  if (!started_) {
    started_ = true;
    epoch_ = position_.epoch;
    last_epoch_ = (epoch_ / options_.passes + 1) * options_.passes - 1;
    cursor_ = position_.cursor;
    skip_ = position_.skip;
  }
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, Fetch());
    if (rows == 0) return End();
    if (position_.step >= first_step_) return Step(rows);
    TokenCounts passed_over;
    Cut(rows, &passed_over);
    position_.step += 1;
    position_.rows += rows;
  }
}

Result<std::vector<Batch>> BatchAssembler::TypeJson(std::vector<Batch> parts) {
  const auto schema = parts.front().rows->schema();
  if (!NeedsSample(*schema, JsonTarget::kArrays)) return parts;
  // The types are those of the whole step, so that they are the same on every rank.
  ARROW_ASSIGN_OR_RAISE(const auto layout,
                        MakeColumnLayout(schema, parts, std::nullopt, JsonTarget::kArrays));
  for (Batch& part : parts) {
    ARROW_ASSIGN_OR_RAISE(part.rows, layout->Convert(part));
  }
  return parts;
}

std::vector<Batch> BatchAssembler::Cut(int64_t rows, TokenCounts* counts) {
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
    position_.reach = piece.batch.reach.At(piece.used);
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
  return parts;
}

Result<Assembled> BatchAssembler::Step(int64_t rows) {
  const int64_t share = options_.SizeOf(position_.step) / options_.world_size;
  const int64_t begin = std::min(rows, options_.rank * share);
  const int64_t end = std::min(rows, begin + share);
  Assembled out;
  std::vector<Batch> parts = Cut(rows, &out.counts);  // of all ranks

  // Digests are of the rows as the stream has them, whatever types the step gives their JSON.
  int64_t first = 0;
  for (const Batch& part : parts) {
    const int64_t from = std::max(begin, first);
    const int64_t to = std::min(end, first + part.num_rows());
    if (from < to) {
      out.digest += RowDigest(*part.rows->Slice(from - first, to - from), position_.rows + from);
    }
    first += part.num_rows();
  }
  ARROW_ASSIGN_OR_RAISE(parts, TypeJson(std::move(parts)));
  ColumnLengths lengths;
  std::vector<Batch> mine;
  first = 0;
  for (const Batch& part : parts) {
    out.counts.AddRows(part, 0, part.num_rows());
    MeasureLengths(*part.rows, &lengths);
    const int64_t from = std::max(begin, first);
    const int64_t to = std::min(end, first + part.num_rows());
    if (from < to) mine.push_back(part.Slice(from - first, to - from));
    first += part.num_rows();
  }
  if (mine.empty()) mine.push_back(parts.front().Slice(0, 0));
  ARROW_ASSIGN_OR_RAISE(const Batch batch, ConcatenateBatches(mine));
  const int64_t fill = options_.world_size > 1 ? share - (end - begin) : 0;
  LoaderBatch loaded;
  ARROW_ASSIGN_OR_RAISE(loaded.columns, Collate(batch, fill, lengths, options_.padding));
  loaded.step = position_.step;
  loaded.rows = batch.num_rows() + fill;
  for (const LoaderColumn& column : loaded.columns) {
    ARROW_ASSIGN_OR_RAISE(const int64_t bytes, column.bytes());
    out.bytes += bytes;
  }
  out.batch = std::move(loaded);
  position_.step += 1;
  position_.rows += rows;
  out.next = position_;
  return out;
}

Result<Assembled> BatchAssembler::End() {
  Assembled out;
  for (const Piece& piece : pieces_) {
    if (!piece.counted) out.counts.AddDropped(piece.batch);
    out.counts.AddDroppedRows(piece.batch, piece.used, piece.batch.num_rows(), "drop_last");
  }
  pieces_.clear();
  available_ = 0;
  position_.epoch = last_epoch_ + 1;
  position_.cursor = nullptr;
  position_.skip = 0;
  position_.reach = {};
  out.next = position_;
  return out;
}

}  // namespace easydata
