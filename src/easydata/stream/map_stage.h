#pragma once

#include <memory>

#include "easydata/base/status.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Puts `op` behind `upstream`: fused into its parallel work where it has some, else as an ordered
/// parallel map.
///
/// Its cursor is the upstream's, taken right after a batch was pulled and kept beside the task
/// until the batch is handed out.
Result<std::unique_ptr<Stage>> MakeMapStage(std::unique_ptr<Stage> upstream,
                                            std::shared_ptr<const BatchOp> op,
                                            const StageContext& context);

/// The plan that applies `op` to every batch of `upstream`. `description` holds the op's own keys.
StreamPlan MapPlan(StreamPlan upstream, std::shared_ptr<const BatchOp> op,
                   const nlohmann::json& description);

}  // namespace easydata
