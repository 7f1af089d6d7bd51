#pragma once

#include <functional>
#include <memory>

#include "easydata/stream/plan.h"

namespace easydata::plan {

/// Makes the stage upstream.
using MakeUpstream = std::function<Result<std::unique_ptr<Stage>>()>;

/// What a stream says whose rows are counted from its first one on.
struct CountedRows {
  const char* why_undivided;  // StreamFacts::why_undivided
  const char* why_no_lanes;   // of packed rows, for an error
};

/// Plans a stage that counts the rows of all lanes together, from the first one of each pass on:
/// every lane reads all of `upstream`, and keeps its own rows of what `make` gives.
StreamPlan OfWholeStream(
    std::shared_ptr<PlanNode> node, const StreamPlan& upstream, CountedRows said,
    std::function<Result<std::unique_ptr<Stage>>(const MakeUpstream& upstream)> make);

}  // namespace easydata::plan
