#include "easydata/plan/whole_stream.h"

#include <utility>

#include "easydata/stream/lane_rows_stage.h"

namespace easydata::plan {

StreamPlan OfWholeStream(
    std::shared_ptr<PlanNode> node, const StreamPlan& upstream, CountedRows said,
    std::function<Result<std::unique_ptr<Stage>>(const MakeUpstream& upstream)> make) {
  node->facts.divide = nullptr;
  node->facts.why_undivided = said.why_undivided;
  // Each pass begins anew, and so does the counting.
  node->facts.carries_passes = false;
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = upstream.schema;
  plan.make = [make = std::move(make), make_upstream = upstream.make,
               is_packed = upstream.facts().is_packed,
               said](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    if (is_packed && context.lanes > 1) return Status::Invalid("lanes: ", said.why_no_lanes);
    StageContext whole = context;
    whole.lane = 0;
    whole.lanes = 1;
    whole.demand.passes = 1;
    ARROW_ASSIGN_OR_RAISE(auto stage,
                          make([make_upstream, whole] { return make_upstream(whole); }));
    return SelectLaneRows(std::move(stage), context);
  };
  return plan;
}

}  // namespace easydata::plan
