#include "easydata/stream/lane_rows_stage.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "easydata/stream/block_store.h"

namespace easydata {
namespace {

class LaneRowsStage : public Stage {
 public:
  LaneRowsStage(std::unique_ptr<Stage> upstream, StageContext context, ShardRows shard_rows)
      : upstream_(std::move(upstream)),
        context_(std::move(context)),
        shard_rows_(std::move(shard_rows)) {}

  Result<std::optional<Batch>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (!batch.has_value()) return std::nullopt;
    std::vector<int64_t> mine;
    int64_t i = 0;
    for (const Addresses::Run& run : batch->addresses.runs()) {
      for (int64_t row = run.row; row < run.row + run.count; ++row, ++i) {
        if (row % context_.lanes == context_.lane) mine.push_back(i);
      }
    }
    ARROW_ASSIGN_OR_RAISE(Batch dealt, batch->Take(mine));
    // Every lane drops all rows of the file that are to be dropped; they are counted once.
    if (context_.lane > 0) dealt.dropped.clear();
    num_rows_ += dealt.num_rows();
    return dealt;
  }

  /// Rows that were expanded, or left some out, have the numbers that they are selected by.
  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    if (keeping.limit != nullptr) return std::string("its rows are few, and cut by a limit");
    return upstream_->KeepBlocks(ops, keeping);
  }

  Cursor Save() const override { return upstream_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return upstream_->Restore(cursor); }
  Result<std::optional<int64_t>> NumRows() override {
    if (shard_rows_ == nullptr) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(const auto all, upstream_->NumRows());
    if (!all.has_value()) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(const auto of_shards, shard_rows_());
    if (!of_shards.has_value()) return std::nullopt;
    int64_t mine = 0;
    for (int64_t rows : *of_shards) mine += context_.ShareOf(rows);
    return mine;
  }

  void Cancel() override { upstream_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }
  StageStats stats() const override {
    StageStats stats;
    stats.rows = num_rows_;
    stats.AddUpstream(upstream_->stats());
    return stats;
  }

 private:
  const std::unique_ptr<Stage> upstream_;
  const StageContext context_;
  const ShardRows shard_rows_;
  int64_t num_rows_ = 0;
};

}  // namespace

std::unique_ptr<Stage> SelectLaneRows(std::unique_ptr<Stage> upstream, const StageContext& context,
                                      ShardRows shard_rows) {
  if (context.lanes == 1) return upstream;
  return std::make_unique<LaneRowsStage>(std::move(upstream), context, std::move(shard_rows));
}

}  // namespace easydata
