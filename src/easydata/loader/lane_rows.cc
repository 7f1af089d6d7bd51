#include "easydata/loader/lane_rows.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace easydata::loader {

Result<int64_t> LaneRows::Count(const StageContext& context) {
  ARROW_ASSIGN_OR_RAISE(auto stage, plan_.make(context));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (cancelled_) return Status::Cancelled("the loader was closed");
    stage_ = std::move(stage);
  }
  auto rows = stage_->NumRows();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stage = std::move(stage_);
  }
  ARROW_RETURN_NOT_OK(rows.status());
  if (rows->has_value()) return **rows;
  return Status::Invalid(
      "lanes: the lanes of a stream that ends must end together, and how many rows each has is not "
      "known without reading them (they are of JSON or text, filtered, packed, mixed up to an end, "
      "or bad ones are left out); give steps=, or mix with stop_strategy \"restart\"");
}

Result<int64_t> LaneRows::UpToEnd(int64_t epoch) {
  std::vector<int64_t> of_lane(context_.lanes, 0);
  StageContext context = context_;
  for (context.lane = 0; context.lane < context.lanes; ++context.lane) {
    for (context.epoch = epoch; context.epoch < epoch + passes_; ++context.epoch) {
      ARROW_ASSIGN_OR_RAISE(const int64_t rows, Count(context));
      of_lane[context.lane] += rows;
    }
  }
  const auto [least, most] = std::minmax_element(of_lane.begin(), of_lane.end());
  if (*least == 0 && *most > 0) {
    context.lane = least - of_lane.begin();
    return Status::Invalid("lanes: all end with the shortest, which has no rows; give steps=",
                           context.OrFewerLanes());
  }
  return *least;
}

void LaneRows::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (stage_ != nullptr) stage_->Cancel();
}

}  // namespace easydata::loader
