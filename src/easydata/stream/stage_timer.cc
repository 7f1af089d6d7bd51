#include "easydata/stream/stage_timer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "easydata/stream/forwarding_stage.h"

namespace easydata {
namespace {

thread_local StageTimer* current = nullptr;

class TimedStage : public ForwardingStage {
 public:
  TimedStage(std::unique_ptr<Stage> stage, std::string name)
      : ForwardingStage(std::move(stage)), name_(std::move(name)) {}

  Result<std::optional<Batch>> Next() override {
    StageTimer timer(&seconds_);
    return upstream()->Next();
  }
  StageStats stats() const override {
    StageStats stats = upstream()->stats();
    stats.wait_seconds[name_] += seconds_;
    return stats;
  }

 private:
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
