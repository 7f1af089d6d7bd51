#pragma once

#include <memory>

#include "easydata/base/status.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Puts `op` downstream of `upstream`: fused into its parallel work where it has some, else as an
/// ordered parallel map.
///
/// Its cursor is the upstream's, taken right after a batch was pulled and kept beside the task
/// until the batch is handed out.
Result<std::unique_ptr<Stage>> MakeMapStage(std::unique_ptr<Stage> upstream,
                                            std::shared_ptr<const BatchOp> op,
                                            const StageContext& context);

/// Applies `op` to every batch of `upstream`. `node` describes it and reads upstream's node;
/// without one the plan is upstream's: for ops that only change the form of columns.
StreamPlan MapPlan(const StreamPlan& upstream, std::shared_ptr<const BatchOp> op,
                   std::shared_ptr<const PlanNode> node = nullptr);

}  // namespace easydata
