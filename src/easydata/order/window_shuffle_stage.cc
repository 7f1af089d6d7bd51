#include "easydata/order/window_shuffle_stage.h"

#include <arrow/record_batch.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "easydata/base/random.h"
#include "easydata/base/slab_pool.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/stage_timer.h"

namespace easydata {
namespace {

class WindowShuffleStage : public Stage {
 public:
  WindowShuffleStage(std::unique_ptr<Stage> upstream, const WindowShuffleOptions& options,
                     int64_t epoch)
      : upstream_(std::move(upstream)), options_(options), epoch_(epoch) {}

  Result<std::optional<Batch>> Next() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    // The output batch may take rows of several windows, so that all but the last are full.
    std::vector<Batch> pieces;
    MixReach reach;
    int64_t wanted = options_.rows_per_batch;
    while (wanted > 0) {
      if (next_ == static_cast<int64_t>(order_.size())) {
        if (failed_.ok()) failed_ = OpenWindow();
        if (order_.empty()) break;
        continue;
      }
      const int64_t count = std::min<int64_t>(wanted, static_cast<int64_t>(order_.size()) - next_);
      ARROW_ASSIGN_OR_RAISE(
          Batch piece, GatherRows(parts_, {order_.begin() + next_, order_.begin() + next_ + count},
                                  upstream_->schema(), &slabs_));
      pieces.push_back(std::move(piece));
      next_ += count;
      wanted -= count;
      reach.Note(options_.rows_per_batch - wanted, reach_);
    }
    if (pieces.empty()) {
      ARROW_RETURN_NOT_OK(failed_);
      if (dropped_.empty()) return std::nullopt;
      Batch batch;
      ARROW_ASSIGN_OR_RAISE(batch.rows, arrow::RecordBatch::MakeEmpty(schema()));
      batch.dropped = std::exchange(dropped_, {});
      return batch;
    }
    ARROW_ASSIGN_OR_RAISE(Batch batch, ConcatenateBatches(pieces));
    batch.dropped = std::exchange(dropped_, {});
    batch.reach = std::move(reach);
    num_rows_ += batch.num_rows();
    return batch;
  }

  Status Save(nlohmann::json* cursor) const override {
    if (restored_ || next_ < static_cast<int64_t>(order_.size())) {
      *cursor = {{"upstream", *start_},
                 {"records", start_records_},
                 {"window", window_},
                 {"rows", restored_ ? skip_rows_ : next_}};
      return Status::OK();
    }
    // Between two windows: the next one starts where the last one ended.
    nlohmann::json upstream;
    int64_t records = 0;
    if (held_.has_value()) {
      upstream = *before_held_;
      records = held_from_;
    } else {
      ARROW_RETURN_NOT_OK(upstream_->Save(&upstream));
    }
    *cursor = {{"upstream", std::move(upstream)},
               {"records", records},
               {"window", window_ + (order_.empty() ? 0 : 1)},
               {"rows", 0}};
    return Status::OK();
  }

  Status Restore(const nlohmann::json& cursor) override {
    start_ = std::make_shared<nlohmann::json>(cursor.at("upstream"));
    start_records_ = skip_records_ = cursor.at("records").get<int64_t>();
    window_ = cursor.at("window").get<int64_t>();
    skip_rows_ = cursor.at("rows").get<int64_t>();
    restored_ = true;
    return upstream_->Restore(*start_);
  }

  void Cancel() override {
    cancelled_ = true;
    upstream_->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = num_rows_;
    stats.AddUpstream(upstream_->stats());
    return stats;
  }

 private:
  /// Makes sure that a batch with unread rows is held; false at the end of the stream.
  Result<bool> Hold() {
    while (!held_.has_value()) {
      auto before = std::make_shared<nlohmann::json>();
      ARROW_RETURN_NOT_OK(upstream_->Save(before.get()));
      ARROW_ASSIGN_OR_RAISE(auto next, upstream_->Next());
      if (!next.has_value()) return false;
      if (skip_records_ == 0) {
        dropped_.insert(dropped_.end(), next->dropped.begin(), next->dropped.end());
      }
      const int64_t skipped = std::min(skip_records_, next->num_rows());
      skip_records_ -= skipped;
      if (skipped == next->num_rows()) continue;
      held_ = std::move(next);
      held_bytes_ = ContentBytesByRow(*held_->rows);
      held_from_ = skipped;
      before_held_ = std::move(before);
    }
    return true;
  }

  /// Reads the next window and permutes it; an empty one is the end of the stream.
  Status OpenWindow() {
    if (!order_.empty()) ++window_;
    parts_.clear();
    order_.clear();
    next_ = 0;
    std::vector<RowRef> rows;
    int64_t bytes = 0;
    while (static_cast<int64_t>(rows.size()) < options_.rows && bytes < options_.bytes) {
      ARROW_ASSIGN_OR_RAISE(bool any, Hold());
      if (!any) break;
      if (rows.empty() && !restored_) {
        start_ = before_held_;
        start_records_ = held_from_;
      }
      const auto part = static_cast<int32_t>(parts_.size());
      parts_.push_back(*held_);
      while (held_from_ < held_->num_rows() && static_cast<int64_t>(rows.size()) < options_.rows &&
             bytes < options_.bytes) {
        bytes += held_bytes_[held_from_];
        rows.push_back({part, held_from_++});
      }
      reach_ = held_->reach.At(held_from_);
      if (held_from_ == held_->num_rows()) held_.reset();
    }
    order_.reserve(rows.size());
    for (int64_t i :
         WindowOrder(options_.seed, static_cast<uint64_t>(epoch_), static_cast<uint64_t>(window_),
                     static_cast<int64_t>(rows.size()))) {
      order_.push_back(rows[i]);
    }
    if (skip_rows_ > 0) dropped_.clear();  // counted when the window's first rows were given out
    next_ = std::exchange(skip_rows_, 0);
    restored_ = false;
    if (next_ > static_cast<int64_t>(order_.size())) {
      next_ = static_cast<int64_t>(order_.size());
      return Status::Invalid(
          "the saved position is behind the end of its window of rows: the data changed since");
    }
    return Status::OK();
  }

  std::unique_ptr<Stage> upstream_;
  const WindowShuffleOptions options_;
  const int64_t epoch_;
  SlabPool slabs_;
  // The window: its rows in the order in which they go out.
  std::vector<Batch> parts_;
  std::vector<RowRef> order_;
  int64_t next_ = 0;
  int64_t window_ = 0;
  MixReach::Place reach_;  // of the whole window
  std::shared_ptr<const nlohmann::json> start_;
  int64_t start_records_ = 0;
  // The batch that the next window goes on with.
  std::optional<Batch> held_;
  std::vector<int64_t> held_bytes_;
  int64_t held_from_ = 0;
  std::shared_ptr<const nlohmann::json> before_held_;
  // After a restore, until the window is open again.
  bool restored_ = false;
  int64_t skip_records_ = 0;
  int64_t skip_rows_ = 0;
  std::vector<DropCount> dropped_;
  Status failed_;
  int64_t num_rows_ = 0;
  std::atomic<bool> cancelled_{false};
};

}  // namespace

Status WindowShuffleOptions::Validate() const {
  if (rows < 1) return Status::Invalid("a shuffle window needs at least 1 row; it has ", rows);
  if (bytes < 1) return Status::Invalid("a shuffle window needs at least 1 byte; it has ", bytes);
  if (rows_per_batch < 1) return Status::Invalid("rows_per_batch must be at least 1");
  return Status::OK();
}

Result<std::unique_ptr<Stage>> MakeWindowShuffleStage(std::unique_ptr<Stage> upstream,
                                                      const WindowShuffleOptions& options,
                                                      const StageContext& context) {
  ARROW_RETURN_NOT_OK(options.Validate());
  return std::make_unique<WindowShuffleStage>(std::move(upstream), options, context.epoch);
}

Result<StreamPlan> WindowShufflePlan(StreamPlan upstream, const WindowShuffleOptions& options,
                                     const std::string& key) {
  ARROW_RETURN_NOT_OK(options.Validate());
  auto description = std::make_shared<nlohmann::json>(*upstream.description);
  (*description)[key + ".rows"] = options.rows;
  (*description)[key + ".bytes"] = options.bytes;
  (*description)[key + ".seed"] = options.seed;
  StreamPlan plan;
  plan.description = std::move(description);
  plan.make = [make = std::move(upstream.make),
               options](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    return Timed(MakeWindowShuffleStage(std::move(stage), options, context), "shuffle");
  };
  return plan;
}

}  // namespace easydata
