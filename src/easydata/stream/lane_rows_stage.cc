#include "easydata/stream/lane_rows_stage.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace easydata {
namespace {

class LaneRowsStage : public Stage {
 public:
  LaneRowsStage(std::unique_ptr<Stage> upstream, int64_t lane, int64_t lanes)
      : upstream_(std::move(upstream)), lane_(lane), lanes_(lanes) {}

  Result<std::optional<Batch>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (!batch.has_value()) return std::nullopt;
    std::vector<int64_t> mine;
    int64_t i = 0;
    for (const Addresses::Run& run : batch->addresses.runs()) {
      for (int64_t row = run.row; row < run.row + run.count; ++row, ++i) {
        if (row % lanes_ == lane_) mine.push_back(i);
      }
    }
    ARROW_ASSIGN_OR_RAISE(Batch dealt, batch->Take(mine));
    // What a row of the file was dropped for is counted once, not once a lane.
    if (lane_ == 0) dealt.dropped = std::move(batch->dropped);
    num_rows_ += dealt.num_rows();
    return dealt;
  }

  Cursor Save() const override { return upstream_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return upstream_->Restore(cursor); }
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
  const int64_t lane_;
  const int64_t lanes_;
  int64_t num_rows_ = 0;
};

}  // namespace

std::unique_ptr<Stage> DealRows(std::unique_ptr<Stage> upstream, const StageContext& context) {
  if (context.lanes == 1) return upstream;
  return std::make_unique<LaneRowsStage>(std::move(upstream), context.lane, context.lanes);
}

}  // namespace easydata
