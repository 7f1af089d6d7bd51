#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "easydata/base/status.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// How many rows the lanes of a stream that ends give up to the end: as many as the shortest has,
/// so that all end at one step and every rank knows at which. For one thread; Cancel() for any.
class LaneRows {
 public:
  /// `context`: of any lane. There is an end after each `passes` passes.
  LaneRows(StreamPlan plan, StageContext context, int64_t passes)
      : plan_(std::move(plan)), context_(std::move(context)), passes_(passes) {}

  /// Rows of each lane from the start of pass `epoch`, the first behind an end, up to the next end.
  /// Looks at the heads or feet of files at most where these say how many rows they have.
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

}  // namespace easydata
