#include "easydata/stream/map_stage.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "easydata/exec/ordered_map.h"
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/block_store.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/packed_rows.h"
#include "easydata/stream/piecewise_op.h"
#include "easydata/stream/stage_timer.h"

namespace easydata {
namespace {

Status DataChanged() {
  return Status::Invalid("the stream ends before the saved position: its data changed since; ",
                         "resume with the data it was saved with");
}

/// The position inside the batch that comes after `before`, from its row `row` on.
Cursor InsideBatch(Cursor before, int64_t row) {
  return Cursor::Of([before = std::move(before), row] {
    return nlohmann::json{{"upstream", before.ToJson()}, {"in_batch", row}};
  });
}

/// A position between two batches of the upstream. One that has this stage's own keys, as that of
/// another MapStage may, is wrapped, so that Restore() does not take them for its own.
Cursor Between(Cursor upstream) {
  return Cursor::Of([upstream = std::move(upstream)] {
    nlohmann::json cursor = upstream.ToJson();
    const bool is_taken =
        cursor.is_object() && (cursor.contains("in_batch") || cursor.contains("before_error"));
    if (!is_taken) return cursor;
    return nlohmann::json{{"upstream", std::move(cursor)}, {"in_batch", 0}};
  });
}

class MapStage : public Stage {
 public:
  MapStage(std::unique_ptr<Stage> upstream, const StageContext& context)
      : upstream_(std::move(upstream)), context_(context), schema_(upstream_->schema()) {
    upstream_->SkipGathering();
  }

  ~MapStage() override { Cancel(); }

  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    // Batches are cut for the first op alone.
    if (op->piecewise() != nullptr && !ops_.empty()) return false;
    ARROW_ASSIGN_OR_RAISE(schema_, op->OutputSchema(schema_));
    ops_.push_back(std::move(op));
    return true;
  }

  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    std::vector<std::shared_ptr<const BatchOp>> all = ops_;
    all.insert(all.end(), ops.begin(), ops.end());
    ARROW_ASSIGN_OR_RAISE(std::string problem, upstream_->KeepBlocks(all, keeping));
    if (!problem.empty()) return problem;
    // The stage that reads applies them, and there is nothing left to do here.
    ops_.clear();
    schema_ = upstream_->schema();
    leaves_all_upstream_ = true;
    return problem;
  }

  Result<std::optional<Batch>> Next() override {
    ARROW_RETURN_NOT_OK(error_);
    if (leaves_all_upstream_ && ops_.empty()) return NextOfUpstream();
    if (map_ == nullptr) StartMap();
    for (;;) {
      if (cancelled_) return Status::Cancelled("the stream was closed");
      if (done_.empty()) {
        ARROW_ASSIGN_OR_RAISE(auto done, map_->Next());
        if (!done.has_value()) {
          if (skip_ > 0) return error_ = DataChanged();
          return std::nullopt;
        }
        std::move(done->begin(), done->end(), std::back_inserter(done_));
        continue;
      }
      Done done = std::move(done_.front());
      done_.pop_front();
      error_ = done.error;
      const int64_t rows = done.batch.num_rows();
      const int64_t skipped = std::min(skip_, rows);
      skip_ -= skipped;
      // Before an error the position stays where it is, so that what follows the bad row is not
      // passed over; the rows before it are counted instead.
      if (error_.ok()) cursor_ = std::move(done.cursor);
      given_ = error_.ok() ? skip_ : rows + skip_;
      if (rows == skipped && !error_.ok()) return error_;
      rows_ += rows - skipped;
      if (skipped == 0) return std::move(done.batch);
      if (skipped < rows) return done.batch.Slice(skipped, rows - skipped);
    }
  }

  bool is_ready() const override {
    // While rows are to be skipped, what is done may be all of them.
    return skip_ == 0 && !done_.empty();
  }

  Cursor Save() const override {
    if (leaves_all_upstream_ && ops_.empty()) return upstream_->Save();
    Cursor cursor = cursor_.empty() ? FirstPosition() : cursor_;
    if (given_ == 0) return cursor;
    return Cursor::Of([cursor = std::move(cursor), rows = given_] {
      return nlohmann::json{{"before_error", cursor.ToJson()}, {"rows", rows}};
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    const nlohmann::json* at = &cursor;
    if (at->contains("before_error")) {
      given_ = skip_ = at->at("rows").get<int64_t>();
      at = &at->at("before_error");
    }
    if (at->contains("in_batch")) {
      pass_over_ = at->at("in_batch").get<int64_t>();
      at = &at->at("upstream");
    }
    return upstream_->Restore(*at);
  }

  Result<std::optional<int64_t>> NumRows() override {
    if (!AllKeepRows(ops_)) return std::nullopt;
    return upstream_->NumRows();
  }

  Result<bool> Seek(int64_t row) override {
    if (!AllKeepRows(ops_)) return false;
    return upstream_->Seek(row);
  }

  void Cancel() override {
    upstream_->Cancel();
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    if (map_ != nullptr) map_->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  StageStats stats() const override {
    StageStats stats = upstream_->stats();
    stats.rows = rows_;
    for (const auto& [work, seconds] : busy_.seconds()) stats.busy_seconds[work] += seconds;
    return stats;
  }

 private:
  /// Rows of batches of the upstream that one task works on.
  struct Task {
    struct Part {
      Batch batch;
      std::vector<int64_t> ends;  // of its pieces
    };
    std::vector<Part> parts;
    std::vector<Cursor> cursors;  // the positions that follow the pieces of all parts
  };
  /// What came of a piece.
  struct Done {
    Batch batch;
    Cursor cursor;  // the position that follows: what Save() answers once the batch is out
    Status error;   // comes out after the batch
  };

  /// A batch of the upstream as it is, but gathered.
  Result<std::optional<Batch>> NextOfUpstream() {
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (!batch.has_value()) return batch;
    if (batch->ungathered != nullptr) ARROW_RETURN_NOT_OK(Gather(&*batch));
    rows_ += batch->num_rows();
    return batch;
  }

  /// Where the stage stands before its first batch.
  Cursor FirstPosition() const {
    return pass_over_ == 0 ? Between(upstream_->Save())
                           : InsideBatch(upstream_->Save(), pass_over_);
  }

  void StartMap() {
    // From here on the upstream is ahead of what has been given out.
    cursor_ = FirstPosition();
    after_ = upstream_->Save();
    auto map = std::make_unique<exec::OrderedMap<Task, std::vector<Done>>>(
        context_.pool, context_.ReadAhead(), [this] { return Pull(); },
        [this](Task task) { return Work(std::move(task)); });
    std::lock_guard<std::mutex> lock(mutex_);
    map_ = std::move(map);
    if (cancelled_) map_->Cancel();
  }

  Result<std::optional<Task>> Pull() {
    ARROW_RETURN_NOT_OK(pull_error_);
    const PiecewiseOp* const op = ops_[0]->piecewise();
    int64_t pieces = op == nullptr ? 1 : op->pieces_at_once();
    Task task;
    do {
      if (!pulled_.has_value()) {
        auto is_there = PullBatch();
        // What was pulled before comes out before it.
        if (!is_there.ok() && !task.parts.empty()) pull_error_ = is_there.status();
        if (!pull_error_.ok()) break;
        ARROW_ASSIGN_OR_RAISE(const bool there, is_there);
        if (!there) break;
      }
      pieces -= PullPieces(op, pieces, &task);
    } while (pieces > 0 && (pulled_.has_value() || upstream_->is_ready()));
    if (task.parts.empty()) return std::nullopt;
    return task;
  }

  /// Adds `most` pieces of the batch that was pulled to the task, or what there is of it; returns
  /// how many.
  int64_t PullPieces(const PiecewiseOp* op, int64_t most, Task* task) {
    const int64_t rows = pulled_->num_rows();
    const int64_t begin = next_row_;
    Task::Part part;
    do {
      next_row_ = op == nullptr ? rows : EndOfPiece(*op, *pulled_, next_row_);
      part.ends.push_back(next_row_ - begin);
      task->cursors.push_back(next_row_ < rows ? InsideBatch(before_, next_row_) : Between(after_));
    } while (next_row_ < rows && std::ssize(part.ends) < most);
    if (begin == 0 && next_row_ == rows) {
      part.batch = std::move(*pulled_);
    } else {
      part.batch = pulled_->Slice(begin, next_row_ - begin);
    }
    if (next_row_ == rows) pulled_.reset();
    task->parts.push_back(std::move(part));
    return std::ssize(task->parts.back().ends);
  }

  /// Pulls the next batch with rows that were not worked on before the saved position.
  Result<bool> PullBatch() {
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(pulled_, upstream_->Next());
      if (!pulled_.has_value()) {
        if (pass_over_ > 0) return DataChanged();
        return false;
      }
      before_ = std::exchange(after_, upstream_->Save());
      next_row_ = 0;
      if (pass_over_ == 0) return true;
      next_row_ = std::min(pass_over_, pulled_->num_rows());
      pass_over_ -= next_row_;
      if (next_row_ < pulled_->num_rows()) return true;
    }
  }

  /// Runs on the pool.
  Result<std::vector<Done>> Work(Task task) {
    std::vector<Batch> pieces;
    for (Task::Part& part : task.parts) {
      if (part.batch.ungathered != nullptr) ARROW_RETURN_NOT_OK(Gather(&part.batch));
      int64_t begin = 0;
      for (const int64_t end : part.ends) {
        pieces.push_back(part.batch.Slice(begin, end - begin));
        begin = end;
      }
      part.batch = {};
    }
    struct Origin {
      MixWatermark watermark;
      Addresses addresses;
      std::optional<PackedRows> packed;
    };
    std::vector<Origin> origins(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      origins[i].watermark = std::move(pieces[i].watermark);
      if (pieces[i].spans != nullptr) origins[i].packed.emplace(&pieces[i]);
      // Where all rows have the same one, it need not be known which was made from which.
      if (!origins[i].watermark.is_uniform()) origins[i].addresses = pieces[i].addresses;
    }
    std::vector<AppliedBatch> applied = ApplyOpsToPieces(ops_, std::move(pieces), &busy_);
    std::vector<Done> out;
    for (size_t i = 0; i < applied.size(); ++i) {
      Batch& batch = applied[i].batch;
      batch.watermark = origins[i].watermark.Of(origins[i].addresses, batch.addresses);
      if (origins[i].packed.has_value()) origins[i].packed->TakeBack(&applied[i]);
      out.push_back({std::move(batch), std::move(task.cursors[i]), std::move(applied[i].error)});
    }
    return out;
  }

  /// Runs on the pool: whatever uses the rows next finds them in the cache.
  Status Gather(Batch* batch) {
    const auto begin = std::chrono::steady_clock::now();
    const UngatheredRows& rows = *batch->ungathered;
    ARROW_ASSIGN_OR_RAISE(Batch gathered,
                          GatherRows(rows.parts, rows.rows, upstream_->schema(), &slabs_));
    gathered.dropped = std::move(batch->dropped);
    gathered.watermark = std::move(batch->watermark);
    *batch = std::move(gathered);
    busy_.Add("gather", std::chrono::steady_clock::now() - begin);
    return Status::OK();
  }

  std::unique_ptr<Stage> upstream_;
  StageContext context_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<const BatchOp>> ops_;
  bool leaves_all_upstream_ = false;  // KeepBlocks() gave its ops to the upstream
  SlabPool slabs_;

  // What was pulled: ahead of what was handed out.
  std::optional<Batch> pulled_;  // the batch that tasks are made of
  int64_t next_row_ = 0;         // of it: the first that is in no task
  Cursor before_;                // the position before it
  Cursor after_;                 // the position after it
  int64_t pass_over_ = 0;        // rows of the upstream to leave out: worked on before a restore
  Status pull_error_;            // returned after the task that was pulled before it

  // What was handed out.
  std::deque<Done> done_;  // what comes next
  Cursor cursor_;
  int64_t given_ = 0;  // rows after the position that are out: those before an error
  int64_t skip_ = 0;   // of them, to be made and passed over after a restore
  int64_t rows_ = 0;
  BusyTimes busy_;
  Status error_;
  std::mutex mutex_;  // guards map_'s birth against Cancel()
  std::atomic<bool> cancelled_{false};
  // Last: its destructor waits for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<Task, std::vector<Done>>> map_;
};

}  // namespace

Result<std::unique_ptr<Stage>> MakeMapStage(std::unique_ptr<Stage> upstream,
                                            std::shared_ptr<const BatchOp> op,
                                            const StageContext& context) {
  ARROW_ASSIGN_OR_RAISE(bool fused, upstream->Fuse(op));
  if (fused) return upstream;
  auto stage = std::make_unique<MapStage>(std::move(upstream), context);
  ARROW_RETURN_NOT_OK(stage->Fuse(std::move(op)).status());
  return Timed(std::move(stage), "workers");
}

StreamPlan MapPlan(const StreamPlan& upstream, std::shared_ptr<const BatchOp> op,
                   std::shared_ptr<const PlanNode> node) {
  StreamPlan plan;
  plan.node = node == nullptr ? upstream.node : std::move(node);
  plan.schema = [schema = upstream.schema, op]() -> Result<std::shared_ptr<arrow::Schema>> {
    ARROW_ASSIGN_OR_RAISE(const auto input, schema());
    return op->OutputSchema(input);
  };
  plan.make = [make = upstream.make,
               op = std::move(op)](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    return MakeMapStage(std::move(stage), op, context);
  };
  return plan;
}

}  // namespace easydata
