#include "easydata/plan/limit_plan.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/lane_rows_stage.h"
#include "easydata/transform/limit_stage.h"

namespace easydata::plan {

Result<StreamPlan> LimitPlan(const StreamPlan& upstream, int64_t max_rows) {
  if (max_rows < 0) return Status::Invalid("max_rows must not be negative, got ", max_rows);
  auto node = MakeNode("limit", {{"rows", max_rows}}, upstream);
  node->facts.finitude = Finitude::kFinite;
  node->facts.divide = nullptr;
  node->facts.why_undivided = "a limit of rows";
  // Each pass begins anew, and so does the limit.
  node->facts.carries_passes = false;
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = upstream.schema;
  plan.make = [make = upstream.make, is_packed = upstream.facts().is_packed,
               max_rows](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    if (is_packed && context.lanes > 1) {
      return Status::Invalid(
          "lanes: packed rows that are limited cannot be read in lanes; limit the documents, or "
          "give steps= in place of the limit");
    }
    StageContext whole = context;
    whole.lane = 0;
    whole.lanes = 1;
    whole.demand.passes = 1;
    ARROW_ASSIGN_OR_RAISE(auto stage, make(whole));
    ARROW_ASSIGN_OR_RAISE(stage, transform::MakeLimitStage(std::move(stage), max_rows));
    return SelectLaneRows(std::move(stage), context);
  };
  return plan;
}

}  // namespace easydata::plan
