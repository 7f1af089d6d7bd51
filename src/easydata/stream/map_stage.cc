#include "easydata/stream/map_stage.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "easydata/exec/ordered_map.h"
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/packed_rows.h"
#include "easydata/stream/stage_timer.h"

namespace easydata {
namespace {

class MapStage : public Stage {
 public:
  MapStage(std::unique_ptr<Stage> upstream, const StageContext& context)
      : upstream_(std::move(upstream)), context_(context), schema_(upstream_->schema()) {
    upstream_->SkipGathering();
  }

  ~MapStage() override { Cancel(); }

  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    ARROW_ASSIGN_OR_RAISE(schema_, op->OutputSchema(schema_));
    ops_.push_back(std::move(op));
    return true;
  }

  Result<std::optional<Batch>> Next() override {
    ARROW_RETURN_NOT_OK(error_);
    if (map_ == nullptr) Start();
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(auto done, map_->Next());
      if (!done.has_value()) {
        if (skip_ > 0) {
          return error_ = Status::Invalid("the stream ends before the saved position: its data ",
                                          "changed since; resume with the data it was saved with");
        }
        return std::nullopt;
      }
      error_ = done->error;
      const int64_t rows = done->batch.num_rows();
      const int64_t skipped = std::min(skip_, rows);
      skip_ -= skipped;
      // Before an error the position stays where it is, so that what follows the bad row is not
      // passed over; the rows before it are counted instead.
      if (error_.ok()) cursor_ = std::move(done->cursor);
      given_ = error_.ok() ? skip_ : rows + skip_;
      if (rows == skipped && !error_.ok()) return error_;
      rows_ += rows - skipped;
      if (skipped == 0) return std::move(done->batch);
      if (skipped < rows) return done->batch.Slice(skipped, rows - skipped);
    }
  }

  Cursor Save() const override {
    Cursor cursor = cursor_.empty() ? upstream_->Save() : cursor_;
    if (given_ == 0) return cursor;
    return Cursor::Of([cursor = std::move(cursor), rows = given_] {
      return nlohmann::json{{"before_error", cursor.ToJson()}, {"rows", rows}};
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    if (!cursor.contains("before_error")) return upstream_->Restore(cursor);
    given_ = skip_ = cursor.at("rows").get<int64_t>();
    return upstream_->Restore(cursor.at("before_error"));
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
  struct Item {
    Batch batch;
    // The position that follows the batch: what Save() answers once the batch is out.
    Cursor cursor;
    Status error;  // comes out after the batch
  };

  void Start() {
    // From here on the upstream is ahead of what has been given out.
    cursor_ = upstream_->Save();
    auto pull = [this]() -> Result<std::optional<Item>> {
      ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
      if (!batch.has_value()) return std::nullopt;
      return Item{std::move(*batch), upstream_->Save(), Status::OK()};
    };
    auto work = [this](Item item) -> Result<Item> {
      const MixWatermark watermark = std::move(item.batch.watermark);
      if (item.batch.ungathered != nullptr) ARROW_RETURN_NOT_OK(Gather(&item.batch));
      std::optional<PackedRows> packed;
      if (item.batch.spans != nullptr) packed.emplace(&item.batch);
      // Where all rows have the same one, it need not be known which was made from which.
      const Addresses from = watermark.is_uniform() ? Addresses() : item.batch.addresses;
      AppliedBatch applied = ApplyOps(ops_, std::move(item.batch), &busy_);
      applied.batch.watermark = watermark.Of(from, applied.batch.addresses);
      if (packed.has_value()) packed->TakeBack(&applied);
      return Item{std::move(applied.batch), std::move(item.cursor), std::move(applied.error)};
    };
    auto map = std::make_unique<exec::OrderedMap<Item, Item>>(context_.pool, context_.ReadAhead(),
                                                              std::move(pull), std::move(work));
    std::lock_guard<std::mutex> lock(mutex_);
    map_ = std::move(map);
    if (cancelled_) map_->Cancel();
  }

  /// Runs on the pool: whatever uses the rows next finds them in the cache.
  Status Gather(Batch* batch) {
    const auto begin = std::chrono::steady_clock::now();
    const UngatheredRows& rows = *batch->ungathered;
    ARROW_ASSIGN_OR_RAISE(Batch gathered,
                          GatherRows(rows.parts, rows.rows, upstream_->schema(), &slabs_));
    gathered.dropped = std::move(batch->dropped);
    *batch = std::move(gathered);
    busy_.Add("gather", std::chrono::steady_clock::now() - begin);
    return Status::OK();
  }

  std::unique_ptr<Stage> upstream_;
  StageContext context_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<const BatchOp>> ops_;
  SlabPool slabs_;
  Cursor cursor_;
  int64_t given_ = 0;  // rows after the position that are out: those before an error
  int64_t skip_ = 0;   // of them, to be made and passed over after a restore
  int64_t rows_ = 0;
  BusyTimes busy_;
  Status error_;
  std::mutex mutex_;  // guards map_'s birth against Cancel()
  bool cancelled_ = false;
  // Last: its destructor waits for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<Item, Item>> map_;
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
