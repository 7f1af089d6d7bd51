#pragma once

#include <memory>
#include <string>

#include "easydata/plan/tokenize_plan.h"
#include "easydata/stream/plan.h"
#include "easydata/trainer/example_op.h"

namespace easydata::plan {

/// Makes examples for a trainer of an upstream's rows.
///
/// `template_hash` tells the chat template from others. `on_cuts` is told of examples that are cut
/// as TokenizePlan() tells of documents.
StreamPlan ExamplePlan(const StreamPlan& upstream,
                       std::shared_ptr<const trainer::ExampleMaker> maker,
                       std::shared_ptr<const trainer::ExampleContext> context,
                       trainer::ExampleOpOptions options, const std::string& template_hash,
                       CutCallback on_cuts = nullptr);

/// The plan, of which a whole pass without an example, though there are rows, is an error: it says
/// why most rows were left out.
StreamPlan WithoutExamplesAnError(StreamPlan plan);

}  // namespace easydata::plan
