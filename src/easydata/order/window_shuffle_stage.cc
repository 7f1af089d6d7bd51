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
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/block_store.h"
#include "easydata/stream/columns.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/no_rows.h"
#include "easydata/stream/row_reader.h"
#include "easydata/stream/row_tokens.h"
#include "easydata/stream/stage_timer.h"
#include "easydata/stream/window_position.h"

namespace easydata::order {
namespace {

// Bounds of a batch where no size is asked for: what uses it next finds it in the cache.
constexpr int64_t kMaxRows = 1024;
constexpr int64_t kMaxBytes = int64_t{256} << 10;

class WindowShuffleStage : public Stage {
 public:
  WindowShuffleStage(std::unique_ptr<Stage> upstream, const WindowShuffleOptions& options,
                     int64_t epoch)
      : reader_(std::move(upstream)), options_(options), epoch_(epoch), most_rows_(options.rows) {}

  /// Ends windows at so many rows, but one that was saved with another bound.
  void BoundWindows(int64_t rows) { most_rows_ = std::min(most_rows_, rows); }

  Result<std::optional<Batch>> Next() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    // A batch may take rows of several windows.
    UngatheredRows taken;
    MixWatermark watermark;
    int64_t rows = 0;
    int64_t bytes = 0;
    const bool exact = options_.rows_per_batch > 0;
    const int64_t max_rows = exact ? options_.rows_per_batch : kMaxRows;
    const int64_t max_bytes = exact ? std::numeric_limits<int64_t>::max() : kMaxBytes;
    while (exact ? rows < max_rows : rows <= max_rows / 2 && bytes <= max_bytes / 2) {
      if (position_.done()) {
        if (failed_.ok()) failed_ = OpenWindow();
        if (!failed_.ok() || position_.num_rows() == 0) break;
        continue;
      }
      // A window may have very many parts, of which a batch needs few.
      part_in_batch_.assign(parts_.size(), -1);
      while (!position_.done() && rows < max_rows && bytes < max_bytes) {
        const RowRef& row = order_[position_.next()];
        int32_t& part = part_in_batch_[row.part];
        if (part < 0) {
          part = static_cast<int32_t>(taken.parts.size());
          taken.parts.push_back(parts_[row.part]);
        }
        taken.rows.push_back({part, row.row});
        bytes += order_bytes_[position_.next()];
        position_.Advance();
        ++rows;
      }
      watermark.Note(rows, watermark_);
    }
    if (taken.rows.empty()) {
      ARROW_RETURN_NOT_OK(failed_);
      if (!reader_.has_dropped()) return std::nullopt;
      Batch batch;
      ARROW_ASSIGN_OR_RAISE(batch.rows, NoRows(schema()));
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
    batch.watermark = std::move(watermark);
    num_rows_ += rows;
    return batch;
  }

  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    if (!AllKeepRows(ops)) {
      return std::string("rows are shuffled before some of them are left out: shuffle after that");
    }
    if (options_.bucket_rows > 0) return std::string("its rows are put into buckets before");
    BlockKeeping measured = keeping;
    measured.with_row_bytes = true;
    // It reads ahead of a limit.
    if (keeping.counted != nullptr) keeping.counted->rows_left.reset();
    return reader_.upstream()->KeepBlocks(ops, measured);
  }

  bool SkipGathering() override {
    leaves_gathering_ = true;
    return true;
  }

  Cursor Save() const override {
    return position_.Save([this] { return NextWindow(); },
                          [rows = options_.rows](const Window& window, nlohmann::json* cursor) {
                            (*cursor)["window"] = window.number;
                            if (window.most_rows != rows) (*cursor)["most"] = window.most_rows;
                          });
  }

  Status Restore(const nlohmann::json& cursor) override {
    const auto start = ReadPosition::FromJson(cursor);
    position_.Restore(
        {start, cursor.at("window").get<int64_t>(), cursor.value("most", options_.rows)}, cursor);
    return reader_.Restore(start);
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
    stats.read = stats.read.Within(read_before_, position_.next(), position_.num_rows());
    return stats;
  }

 private:
  struct Window {
    ReadPosition start;
    int64_t number = 0;
    int64_t most_rows = 0;
  };

  Window NextWindow() const {
    return {reader_.Save(), position_.window().number + (position_.num_rows() > 0 ? 1 : 0),
            most_rows_};
  }

  /// Reads the next window and permutes it; an empty one is the end of the stream.
  Status OpenWindow() {
    position_.Begin([this] { return NextWindow(); });
    read_before_ = reader_.upstream()->stats().read;
    parts_.clear();
    order_.clear();
    order_bytes_.clear();
    RowWindow read;
    std::vector<int64_t> row_bytes;
    std::vector<int64_t> lengths;
    int64_t bytes = 0;
    const int64_t most_rows = position_.window().most_rows;
    const auto closed = [&] {
      const int64_t size = std::ssize(read.rows);
      const bool whole = options_.bucket_rows == 0 || size % options_.bucket_rows == 0;
      return size >= most_rows || (bytes >= options_.bytes && whole);
    };
    while (!closed()) {
      ARROW_ASSIGN_OR_RAISE(bool any, reader_.Hold());
      if (!any) break;
      const Batch& batch = reader_.batch();
      if (measured_ != batch.rows) {
        measured_ = batch.rows;
        bytes_by_row_ =
            batch.row_bytes != nullptr ? *batch.row_bytes : ContentBytesByRow(*measured_);
        if (options_.bucket_rows > 0) {
          ARROW_ASSIGN_OR_RAISE(lengths_by_row_, LengthsOf(batch));
        }
      }
      reader_.TakeInto(&read, [&](int64_t row) {
        if (options_.bucket_rows > 0) lengths.push_back(lengths_by_row_[row]);
        row_bytes.push_back(bytes_by_row_[row]);
        bytes += row_bytes.back();
        return !closed();
      });
    }
    parts_ = std::move(read.parts);
    watermark_ = read.watermark;
    order_.reserve(read.rows.size());
    order_bytes_.reserve(read.rows.size());
    const auto epoch = static_cast<uint64_t>(epoch_);
    const auto window = static_cast<uint64_t>(position_.window().number);
    const int64_t size = std::ssize(read.rows);
    for (int64_t i : options_.bucket_rows > 0
                         ? BucketOrder(lengths, options_.bucket_rows, options_.seed, epoch, window)
                         : WindowOrder(options_.seed, epoch, window, size)) {
      order_.push_back(read.rows[i]);
      order_bytes_.push_back(row_bytes[i]);
    }
    // Counted when the window's first rows were given out.
    if (position_.passes_over()) reader_.TakeDropped();
    return position_.Open(size, "rows");
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
  int64_t most_rows_;  // of the windows to come
  SlabPool slabs_;
  bool leaves_gathering_ = false;
  // The window: its rows in the order in which they go out.
  SharedBatches parts_;
  std::vector<int32_t> part_in_batch_;  // by part: its number in the batch in the making, or -1
  std::vector<RowRef> order_;
  std::vector<int64_t> order_bytes_;
  WindowPosition<Window> position_;
  MixWatermark::Boundary watermark_;  // of the whole window
  ReadShare read_before_;             // upstream, when the window was begun
  std::shared_ptr<const arrow::RecordBatch> measured_;
  std::vector<int64_t> bytes_by_row_;
  std::vector<int64_t> lengths_by_row_;  // where there are buckets
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
  if (most_steps < 0) return Status::Invalid("most_steps must not be negative");
  return Status::OK();
}

namespace {

/// Rows of a lane in so many steps of the consumer.
int64_t RowsOfSteps(int64_t steps, const StageContext& context) {
  const int64_t rows = std::max<int64_t>(context.demand.first_step_rows() / context.lanes, 1);
  return steps > std::numeric_limits<int64_t>::max() / rows ? std::numeric_limits<int64_t>::max()
                                                            : steps * rows;
}

// An edit of the mix may change it: windows keep the bound that they were begun with.
constexpr OptionRule kRules[] = {
    {.option = "most_steps",
     .may_lack = true,
     .may_differ = [](const ComparedNode&) { return true; }},
};

}  // namespace

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
  auto stage = std::make_unique<WindowShuffleStage>(std::move(upstream), of_lane, context.epoch);
  if (options.most_steps > 0) stage->BoundWindows(RowsOfSteps(options.most_steps, context));
  return stage;
}

Result<StreamPlan> WindowShufflePlan(const StreamPlan& upstream,
                                     const WindowShuffleOptions& options, const std::string& name) {
  ARROW_RETURN_NOT_OK(options.Validate());
  nlohmann::json described = {
      {"rows", options.rows}, {"bytes", options.bytes}, {"seed", options.seed}};
  if (options.bucket_rows > 0) described["bucket_rows"] = options.bucket_rows;
  if (options.most_steps > 0) described["most_steps"] = options.most_steps;
  StreamPlan plan;
  auto node = MakeNode(name, described, upstream);
  node->rules = kRules;
  plan.node = std::move(node);
  plan.schema = upstream.schema;
  plan.make = [make = upstream.make,
               options](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    WindowShuffleOptions of_pass = options;
    if (options.in_steps) of_pass.rows_per_batch = context.demand.first_step_rows();
    return Timed(MakeWindowShuffleStage(std::move(stage), of_pass, context), "shuffle");
  };
  return plan;
}

}  // namespace easydata::order
