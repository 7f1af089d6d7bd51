#include "easydata/stream/stage_timer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace easydata {
namespace {

thread_local StageTimer* current = nullptr;

class TimedStage : public Stage {
 public:
  TimedStage(std::unique_ptr<Stage> stage, std::string name)
      : stage_(std::move(stage)), name_(std::move(name)) {}

  Result<std::optional<Batch>> Next() override {
    StageTimer timer(&seconds_);
    return stage_->Next();
  }
  Cursor Save() const override { return stage_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return stage_->Restore(cursor); }
  Result<std::optional<int64_t>> NumRows() override { return stage_->NumRows(); }
  Result<bool> Seek(int64_t row) override { return stage_->Seek(row); }
  void Cancel() override { stage_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return stage_->schema(); }
  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    return stage_->Fuse(std::move(op));
  }
  bool LeaveGathering() override { return stage_->LeaveGathering(); }
  StageStats stats() const override {
    StageStats stats = stage_->stats();
    stats.wait_seconds[name_] += seconds_;
    return stats;
  }

 private:
  const std::unique_ptr<Stage> stage_;
  const std::string name_;
  double seconds_ = 0;
};

}  // namespace

StageTimer::StageTimer(double* seconds) : seconds_(seconds), outer_(current), begin_(Clock::now()) {
  current = this;
}

StageTimer::~StageTimer() {
  const Clock::duration time = Clock::now() - begin_;
  *seconds_ += std::chrono::duration<double>(time - inner_).count();
  if (outer_ != nullptr) outer_->inner_ += time;
  current = outer_;
}

void BusyTimes::Add(const std::string& what, std::chrono::steady_clock::duration time) {
  std::lock_guard<std::mutex> lock(mutex_);
  seconds_[what] += std::chrono::duration<double>(time).count();
}

std::map<std::string, double> BusyTimes::seconds() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return seconds_;
}

Result<std::unique_ptr<Stage>> Timed(Result<std::unique_ptr<Stage>> stage, std::string name) {
  ARROW_RETURN_NOT_OK(stage.status());
  return std::make_unique<TimedStage>(std::move(stage).ValueUnsafe(), std::move(name));
}

}  // namespace easydata
