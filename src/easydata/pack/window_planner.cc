#include "easydata/pack/window_planner.h"

#include <utility>

namespace easydata::pack {

std::unique_ptr<WindowPlanner> WindowPlanner::Make(const PackSettings& options) {
  const auto make = StrategyOf(options.strategy).make_planner;
  return make == nullptr ? nullptr : make(options);
}

bool CountedPlanner::full() const {
  return documents_ >= options_.pack_window || bytes_ >= options_.pack_window_bytes;
}

Result<bool> CountedPlanner::Add(int64_t length, RowPlan* plan) {
  bytes_ += length * static_cast<int64_t>(sizeof(int32_t));
  Put(documents_++, length, plan);
  return true;
}

int64_t CountedPlanner::Close(int64_t rows_before, bool last, RowPlan* plan) {
  bytes_ = 0;
  return Finish(std::exchange(documents_, 0), last, plan);
}

}  // namespace easydata::pack
