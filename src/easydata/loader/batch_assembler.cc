#include "easydata/loader/batch_assembler.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/loader/row_digest.h"
#include "easydata/stream/column_layout.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::loader {

LoaderPosition StartOf(const StepOptions& options) {
  LoaderPosition start;
  const auto lanes = options.LanesRead();
  start.lanes.resize(lanes.end - lanes.begin);
  return start;
}

BatchAssembler::BatchAssembler(const StreamPlan& plan,
                               const std::shared_ptr<exec::ThreadPool>& pool, StepOptions options)
    : options_(std::move(options)), lanes_(options_.LanesRead()) {
  StageContext context;
  context.pool = pool;
  context.lanes = options_.lanes;
  context.demand = options_.AsDemand();
  const int64_t num_read = lanes_.end - lanes_.begin;
  if (num_read > 1) context.read_ahead = context.ReadAheadOfEach(num_read);
  std::optional<int64_t> passes = options_.passes;
  if (options_.steps.has_value()) passes.reset();
  if (options_.lanes > 1 && options_.IsEndless(plan.facts())) passes.reset();
  if (options_.lanes > 1 && passes.has_value()) {
    lane_rows_ = std::make_unique<LaneRows>(plan, context, *passes);
  }
  for (context.lane = lanes_.begin; context.lane < lanes_.end; ++context.lane) {
    readers_.push_back(std::make_unique<LaneReader>(plan, context, passes));
  }
}

void BatchAssembler::Start(const LoaderPosition& position, int64_t first_step) {
  position_ = position;
  first_step_ = first_step;
  for (size_t i = 0; i < readers_.size(); ++i) readers_[i]->Start(position.lanes[i]);
}

void BatchAssembler::Cancel() {
  if (lane_rows_ != nullptr) lane_rows_->Cancel();
  for (const auto& reader : readers_) reader->Cancel();
}

StageStats BatchAssembler::stats() {
  StageStats stats;
  for (const auto& reader : readers_) {
    const StageStats lane = reader->stats();
    stats.AddUpstream(lane);
    stats.rows += lane.rows;
  }
  stats.wait_seconds["collate"] = collate_seconds_;
  return stats;
}

Result<bool> BatchAssembler::LanesHave(int64_t rows) {
  if (!rows_to_end_.has_value()) {
    const int64_t first = position_.lanes[0].epoch / options_.passes * options_.passes;
    ARROW_ASSIGN_OR_RAISE(rows_to_end_, lane_rows_->UpToEnd(first));
  }
  const int64_t given =
      options_.RowsBefore(position_.step) - options_.RowsBefore(position_.pass_start);
  return rows <= *rows_to_end_ - given / options_.lanes;
}

Result<int64_t> BatchAssembler::Fetch() {
  if (options_.steps.has_value() && position_.step - position_.pass_start >= *options_.steps) {
    return 0;
  }
  const int64_t size = options_.SizeOf(position_.step);
  const int64_t wanted = size / options_.lanes;
  if (lane_rows_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(const bool have, LanesHave(wanted));
    if (!have) return 0;
  }
  int64_t rows = size;
  for (size_t i = 0; i < readers_.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const int64_t held, readers_[i]->Hold(wanted));
    if (held == wanted) continue;
    if (options_.lanes > 1) {
      return Status::Invalid("lanes: lane ", lanes_.begin + static_cast<int64_t>(i), " of ",
                             options_.lanes,
                             " has fewer rows than were counted: its files changed since; start "
                             "again with them as they are");
    }
    rows = held;
  }
  return rows < size && options_.drop_last ? 0 : rows;
}

Result<Assembled> BatchAssembler::Next() {
  StageTimer timer(&collate_seconds_);
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, Fetch());
    if (rows == 0) return End();
    if (position_.step >= first_step_) return Step(rows);
    for (const auto& reader : readers_) {
      TokenCounts passed_over;
      reader->Take(rows / options_.lanes, &passed_over);
    }
    Advance(rows);
  }
}

void BatchAssembler::Advance(int64_t rows) {
  position_.step += 1;
  position_.rows += rows;
  for (size_t i = 0; i < readers_.size(); ++i) position_.lanes[i] = readers_[i]->position();
}

Result<std::vector<Batch>> BatchAssembler::TypeJson(std::vector<Batch> parts) const {
  const auto schema = parts.front().rows->schema();
  if (!NeedsSample(*schema, JsonTarget::kArrays)) return parts;
  if (options_.lanes > 1) {
    return Status::Invalid(
        "lanes: the types of JSON rows show in a whole step only, and a rank reads just its own "
        "lanes of it; tokenize them, or save them as Parquet and load that");
  }
  // The types are those of the whole step, so that they are the same on every rank.
  ARROW_RETURN_NOT_OK(TypeColumns(JsonTarget::kArrays, &parts));
  return parts;
}

Status BatchAssembler::CheckPadding(const arrow::Schema& schema) const {
  const PadOptions& padding = options_.padding;
  if (padding.columns.empty() || padding.may_miss) return Status::OK();
  if (json::RowColumnIndex(schema) >= 0) return Status::OK();
  for (const auto& [column, spec] : padding.columns) {
    if (schema.GetFieldIndex(column) >= 0) continue;
    std::string names;
    for (const std::string& name : schema.field_names()) {
      names += (names.empty() ? "'" : ", '") + name + "'";
    }
    return Status::Invalid("padding['", column, "']: the stream has no such column, it has ", names,
                           "; leave it out, or give the name of one of these");
  }
  return Status::OK();
}

Status BatchAssembler::CheckLengths(const ColumnLengths& lengths) const {
  if (options_.lanes == 1) return Status::OK();
  for (const auto& [column, longest] : lengths) {
    const auto given = options_.padding.columns.find(column);
    if (given != options_.padding.columns.end() && given->second.lengths.size() == 1) continue;
    return Status::Invalid(
        "lanes: rows of column '", column,
        "' are padded to the longest of the step, and a rank reads just its own lanes of it; pack "
        "them, or give them one length: padding={'",
        column, "': PadSpec(length=...)}");
  }
  return Status::OK();
}

Result<Assembled> BatchAssembler::Step(int64_t rows) {
  const int64_t size = options_.SizeOf(position_.step);
  const int64_t share = size / options_.world_size;
  const int64_t begin = std::min(rows, options_.rank * share);
  const int64_t end = std::min(rows, begin + share);
  const int64_t of_lane = rows / options_.lanes;
  Assembled out;
  out.counts.resize(readers_.size());
  ColumnLengths lengths;
  std::vector<Batch> mine;
  Batch none;  // of the same columns, without rows
  int64_t first = lanes_.begin * of_lane;
  for (size_t i = 0; i < readers_.size(); ++i) {
    std::vector<Batch> parts = readers_[i]->Take(of_lane, &out.counts[i]);  // of all ranks
    ARROW_RETURN_NOT_OK(CheckPadding(*parts.front().rows->schema()));
    const int64_t lane_begin = first;
    const auto each_of_mine = [&](auto&& visit) {
      int64_t row = lane_begin;
      for (const Batch& part : parts) {
        const int64_t from = std::max(begin, row);
        const int64_t to = std::min(end, row + part.num_rows());
        if (from < to) visit(part, from - row, to - from, from);
        row += part.num_rows();
      }
    };
    // Digests are of the rows as the stream has them, whatever types the step gives to their JSON.
    each_of_mine([&](const Batch& part, int64_t offset, int64_t count, int64_t row) {
      out.digest += RowDigest(*part.rows->Slice(offset, count), position_.rows + row);
    });
    ARROW_ASSIGN_OR_RAISE(parts, TypeJson(std::move(parts)));
    for (const Batch& part : parts) {
      out.counts[i].AddRows(part, 0, part.num_rows());
      // A row of another rank that fits into no batch is an error here too: all stop at one step.
      ARROW_RETURN_NOT_OK(MeasureLengths(part, options_.padding, &lengths));
      ARROW_RETURN_NOT_OK(CheckNumbers(part, options_.padding, lengths));
      ARROW_RETURN_NOT_OK(CheckTrained(part, options_.padding));
    }
    each_of_mine([&](const Batch& part, int64_t offset, int64_t count, int64_t) {
      TokenCounts of_mine;
      of_mine.AddRows(part, offset, offset + count);
      out.tokens += of_mine.tokens();
      mine.push_back(part.Slice(offset, count));
    });
    if (i == 0) none = parts.front().Slice(0, 0);
    first += of_lane;
  }
  ARROW_RETURN_NOT_OK(CheckLengths(lengths));
  if (mine.empty()) mine.push_back(std::move(none));
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
  Advance(rows);
  out.next = position_;
  return out;
}

Result<Assembled> BatchAssembler::End() {
  Assembled out;
  out.counts.resize(readers_.size());
  if (options_.steps.has_value()) {
    // The next step begins with the rows in hand.
    position_.pass_start = position_.step;
  } else {
    for (size_t i = 0; i < readers_.size(); ++i) {
      ARROW_RETURN_NOT_OK(readers_[i]->Finish(&out.counts[i]));
      position_.lanes[i] = readers_[i]->position();
      out.mix_end = readers_[i]->stats().mix_end;
    }
    rows_to_end_.reset();
    if (lane_rows_ != nullptr) position_.pass_start = position_.step;
  }
  out.next = position_;
  return out;
}

}  // namespace easydata::loader
