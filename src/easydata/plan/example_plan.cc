#include "easydata/plan/example_plan.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/map_stage.h"

namespace easydata::plan {

StreamPlan ExamplePlan(const StreamPlan& upstream,
                       std::shared_ptr<const trainer::ExampleMaker> maker,
                       std::shared_ptr<const trainer::ExampleContext> context,
                       trainer::ExampleOpOptions options, const std::string& template_hash,
                       CutCallback on_cuts) {
  nlohmann::json described = maker->described();
  described["kind"] = maker->name();
  described["tokenizer"] = context->encoder->fingerprint();
  described["chat_template"] = template_hash;
  auto node = MakeNode("examples", described, upstream);
  node->tokenizer = context->encoder->fingerprint();
  node->facts.is_padded = maker->example_options().has_fixed_shapes();
  auto op = trainer::ExampleOp(std::move(maker), std::move(context), std::move(options));
  return WithCutNotices(MapPlan(upstream, std::move(op), std::move(node)), std::move(on_cuts));
}

}  // namespace easydata::plan
