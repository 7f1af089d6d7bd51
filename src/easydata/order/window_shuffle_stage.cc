#include "easydata/order/window_shuffle_stage.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "easydata/base/random.h"
#include "easydata/base/slab_pool.h"
#include "easydata/order/bucket_order.h"
#include "easydata/stream/columns.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/row_reader.h"
#include "easydata/stream/row_tokens.h"
#include "easydata/stream/stage_timer.h"

namespace easydata {
namespace {

// Where nobody wants batches of a certain size, one goes out at this much: what works on it next
// finds it in the cache.
constexpr int64_t kMaxRows = 1024;
constexpr int64_t kMaxBytes = int64_t{256} << 10;

class WindowShuffleStage : public Stage {
 public:
  WindowShuffleStage(std::unique_ptr<Stage> upstream, const WindowShuffleOptions& options,
                     int64_t epoch)
      : reader_(std::move(upstream)), options_(options), epoch_(epoch) {}

  Result<std::optional<Batch>> Next() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    // A batch may take rows of several windows.
    UngatheredRows taken;
    MixReach reach;
    int64_t rows = 0;
    int64_t bytes = 0;
    const bool exact = options_.rows_per_batch > 0;
    const int64_t max_rows = exact ? options_.rows_per_batch : kMaxRows;
    const int64_t max_bytes = exact ? std::numeric_limits<int64_t>::max() : kMaxBytes;
    while (exact ? rows < max_rows : rows <= max_rows / 2 && bytes <= max_bytes / 2) {
      if (next_ == static_cast<int64_t>(order_.size())) {
        if (failed_.ok()) failed_ = OpenWindow();
        if (!failed_.ok() || order_.empty()) break;
        continue;
      }
      // A window may have very many parts, of which a batch needs few.
      part_in_batch_.assign(parts_.size(), -1);
      const auto end = static_cast<int64_t>(order_.size());
      while (next_ < end && rows < max_rows && bytes < max_bytes) {
        const RowRef& row = order_[next_];
        int32_t& part = part_in_batch_[row.part];
        if (part < 0) {
          part = static_cast<int32_t>(taken.parts.size());
          taken.parts.push_back(parts_[row.part]);
        }
        taken.rows.push_back({part, row.row});
        bytes += order_bytes_[next_++];
        ++rows;
      }
      reach.Note(rows, reach_);
    }
    if (taken.rows.empty()) {
      ARROW_RETURN_NOT_OK(failed_);
      if (!reader_.has_dropped()) return std::nullopt;
      Batch batch;
      ARROW_ASSIGN_OR_RAISE(batch.rows, arrow::RecordBatch::MakeEmpty(schema()));
      batch.dropped = reader_.TakeDropped();
      return batch;
    }
    Batch batch;
    if (leaves_gathering_) {
      batch.ungathered = std::make_shared<const UngatheredRows>(std::move(taken));
    } else {
      ARROW_ASSIGN_OR_RAISE(batch, GatherRows(taken.parts, taken.rows, schema(), &slabs_));
    }
    batch.dropped = reader_.TakeDropped();
    batch.reach = std::move(reach);
    num_rows_ += rows;
    return batch;
  }

  bool LeaveGathering() override {
    leaves_gathering_ = true;
    return true;
  }

  Cursor Save() const override {
    RowReader::Position start = start_;
    int64_t window = window_;
    int64_t rows = restored_ ? skip_rows_ : next_;
    if (!restored_ && next_ == static_cast<int64_t>(order_.size())) {
      // Between two windows: the next one starts where the last one ended.
      start = reader_.Save();
      window += order_.empty() ? 0 : 1;
      rows = 0;
    }
    return Cursor::Of([start = std::move(start), window, rows] {
      nlohmann::json cursor;
      cursor["upstream"] = start.upstream.ToJson();
      cursor["records"] = start.records;
      cursor["window"] = window;
      cursor["rows"] = rows;
      return cursor;
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    start_ = {Cursor(cursor.at("upstream")), cursor.at("records").get<int64_t>()};
    window_ = cursor.at("window").get<int64_t>();
    skip_rows_ = cursor.at("rows").get<int64_t>();
    restored_ = true;
    return reader_.Restore(cursor.at("upstream"), start_.records);
  }

  Result<std::optional<int64_t>> NumRows() override { return reader_.upstream()->NumRows(); }

  void Cancel() override {
    cancelled_ = true;
    reader_.upstream()->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return reader_.upstream()->schema(); }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = num_rows_;
    stats.AddUpstream(reader_.upstream()->stats());
    return stats;
  }

 private:
  /// Reads the next window and permutes it; an empty one is the end of the stream.
  Status OpenWindow() {
    if (!order_.empty()) ++window_;
    // Until it is open, and for good where reading fails, the position is that of its beginning.
    if (!restored_) start_ = reader_.Save();
    restored_ = true;
    parts_.clear();
    order_.clear();
    next_ = 0;
    order_bytes_.clear();
    std::vector<RowRef> rows;
    std::vector<int64_t> row_bytes;
    std::vector<int64_t> lengths;
    int64_t bytes = 0;
    const auto closed = [&] {
      const auto size = static_cast<int64_t>(rows.size());
      const bool whole = options_.bucket_rows == 0 || size % options_.bucket_rows == 0;
      return size >= options_.rows || (bytes >= options_.bytes && whole);
    };
    while (!closed()) {
      ARROW_ASSIGN_OR_RAISE(bool any, reader_.Hold());
      if (!any) break;
      const Batch& batch = reader_.batch();
      if (measured_ != batch.rows) {
        measured_ = batch.rows;
        bytes_by_row_ = ContentBytesByRow(*measured_);
        if (options_.bucket_rows > 0) {
          ARROW_ASSIGN_OR_RAISE(lengths_by_row_, LengthsOf(batch));
        }
      }
      const auto part = static_cast<int32_t>(parts_.size());
      parts_.push_back(std::make_shared<const Batch>(batch));
      while (reader_.any() && !closed()) {
        rows.push_back({part, reader_.row()});
        if (options_.bucket_rows > 0) lengths.push_back(lengths_by_row_[reader_.row()]);
        row_bytes.push_back(bytes_by_row_[reader_.row()]);
        bytes += row_bytes.back();
        reader_.Take();
      }
      reach_ = batch.reach.At(reader_.row());
    }
    order_.reserve(rows.size());
    order_bytes_.reserve(rows.size());
    const auto epoch = static_cast<uint64_t>(epoch_);
    const auto window = static_cast<uint64_t>(window_);
    const auto size = static_cast<int64_t>(rows.size());
    for (int64_t i : options_.bucket_rows > 0
                         ? BucketOrder(lengths, options_.bucket_rows, options_.seed, epoch, window)
                         : WindowOrder(options_.seed, epoch, window, size)) {
      order_.push_back(rows[i]);
      order_bytes_.push_back(row_bytes[i]);
    }
    if (skip_rows_ > 0)
      reader_.TakeDropped();  // counted when the window's first rows were given out
    next_ = std::exchange(skip_rows_, 0);
    restored_ = false;
    if (next_ > static_cast<int64_t>(order_.size())) {
      next_ = static_cast<int64_t>(order_.size());
      return Status::Invalid(
          "the saved position is behind the end of its window of rows: the data changed since");
    }
    return Status::OK();
  }

  /// Of the batch that was measured last.
  Result<std::vector<int64_t>> LengthsOf(const Batch& batch) const {
    const auto ids = schema()->GetFieldByName("input_ids");
    if (ids == nullptr || !IsList(*ids->type())) return bytes_by_row_;
    return RowTokens(batch, "input_ids");
  }

  RowReader reader_;
  const WindowShuffleOptions options_;
  const int64_t epoch_;
  SlabPool slabs_;
  bool leaves_gathering_ = false;
  // The window: its rows in the order in which they go out.
  SharedBatches parts_;
  std::vector<int32_t> part_in_batch_;  // by part: its number in the batch in the making, or -1
  std::vector<RowRef> order_;
  std::vector<int64_t> order_bytes_;
  int64_t next_ = 0;
  int64_t window_ = 0;
  MixReach::Place reach_;  // of the whole window
  RowReader::Position start_;
  std::shared_ptr<const arrow::RecordBatch> measured_;
  std::vector<int64_t> bytes_by_row_;
  std::vector<int64_t> lengths_by_row_;  // where there are buckets
  // The window at start_ is to be opened, and so many of its rows to be passed over.
  bool restored_ = false;
  int64_t skip_rows_ = 0;
  Status failed_;
  int64_t num_rows_ = 0;
  std::atomic<bool> cancelled_{false};
};

}  // namespace

Status WindowShuffleOptions::Validate() const {
  if (rows < 1) return Status::Invalid("a shuffle window needs at least 1 row; it has ", rows);
  if (bytes < 1) return Status::Invalid("a shuffle window needs at least 1 byte; it has ", bytes);
  if (bucket_rows < 0 || (bucket_rows > 0 && rows % bucket_rows != 0)) {
    return Status::Invalid("a window of ", rows, " rows has no whole buckets of ", bucket_rows);
  }
  if (rows_per_batch < 0) return Status::Invalid("rows_per_batch must not be negative");
  return Status::OK();
}

Result<std::unique_ptr<Stage>> MakeWindowShuffleStage(std::unique_ptr<Stage> upstream,
                                                      const WindowShuffleOptions& options,
                                                      const StageContext& context) {
  ARROW_RETURN_NOT_OK(options.Validate());
  WindowShuffleOptions of_lane = options;
  of_lane.seed = context.SeedOf(options.seed);
  if (options.bucket_rows > 0) {
    of_lane.rows = std::max<int64_t>(options.rows / context.lanes, 1);
    of_lane.bucket_rows = std::max<int64_t>(options.bucket_rows / context.lanes, 1);
  }
  return std::make_unique<WindowShuffleStage>(std::move(upstream), of_lane, context.epoch);
}

Result<StreamPlan> WindowShufflePlan(const StreamPlan& upstream,
                                     const WindowShuffleOptions& options, const std::string& name) {
  ARROW_RETURN_NOT_OK(options.Validate());
  nlohmann::json described = {
      {"rows", options.rows}, {"bytes", options.bytes}, {"seed", options.seed}};
  if (options.bucket_rows > 0) described["bucket_rows"] = options.bucket_rows;
  StreamPlan plan;
  plan.node = MakeNode(name, described, upstream);
  plan.make = [make = upstream.make,
               options](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    WindowShuffleOptions of_pass = options;
    if (options.in_steps) of_pass.rows_per_batch = context.demand.first_step_rows();
    return Timed(MakeWindowShuffleStage(std::move(stage), of_pass, context), "shuffle");
  };
  return plan;
}

}  // namespace easydata
