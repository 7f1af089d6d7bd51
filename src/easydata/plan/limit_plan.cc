#include "easydata/plan/limit_plan.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/plan/whole_stream.h"
#include "easydata/transform/limit_stage.h"

namespace easydata::plan {

Result<StreamPlan> LimitPlan(const StreamPlan& upstream, int64_t max_rows) {
  if (max_rows < 0) return Status::Invalid("max_rows must not be negative, got ", max_rows);
  auto node = MakeNode("limit", {{"rows", max_rows}}, upstream);
  node->facts.finitude = Finitude::kFinite;
  return OfWholeStream(
      std::move(node), upstream,
      {.why_undivided = "a limit of rows",
       .why_no_lanes = "packed rows that are limited cannot be read in lanes; limit the documents, "
                       "or give steps= in place of the limit"},
      [max_rows](const MakeUpstream& make) -> Result<std::unique_ptr<Stage>> {
        ARROW_ASSIGN_OR_RAISE(auto stage, make());
        return transform::MakeLimitStage(std::move(stage), max_rows);
      });
}

}  // namespace easydata::plan
