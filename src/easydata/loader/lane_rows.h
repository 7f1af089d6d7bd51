#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "easydata/base/status.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::loader {

/// Finds how many rows each lane of a stream gives up to its end: as many as the shortest has, so
/// that all end at one step and every rank knows at which. For one thread; Cancel() for any.
class LaneRows {
 public:
  /// `context` is that of any lane. There is an end after each `passes` passes.
  LaneRows(StreamPlan plan, StageContext context, int64_t passes)
      : plan_(std::move(plan)), context_(std::move(context)), passes_(passes) {}

  /// Rows of each lane from the start of pass `epoch`, the first after an end, up to the next end.
  /// Reads no more than the headers or footers of files where these say how many rows there are.
  ///
  /// Invalid where that is not known without reading all rows, and where a lane has none while
  /// others have some.
  Result<int64_t> UpToEnd(int64_t epoch);
  void Cancel();

 private:
  Result<int64_t> Count(const StageContext& context);

  const StreamPlan plan_;
  const StageContext context_;
  const int64_t passes_;
  std::mutex mutex_;  // guards stage_ and cancelled_
  std::unique_ptr<Stage> stage_;
  bool cancelled_ = false;
};

}  // namespace easydata::loader
