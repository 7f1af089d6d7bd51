#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "easydata/base/status.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::order {

/// Repeats one source: its passes, one after the other, as one stream.
///
/// `passes` is their number; nothing: for ever, and then an empty pass is an error. Pass p is what
/// `make` gives for epoch context.epoch * passes + p (for ever: context.epoch + p), so that no
/// order is used twice when the whole is repeated. Its cursor is the pass and the position in it.
Result<std::unique_ptr<Stage>> MakeRepeatStage(StageFactory make, std::optional<int64_t> passes,
                                               const StageContext& context);

/// Repeats `upstream`. A stream that never ends stays as it is where it is to be repeated for ever.
Result<StreamPlan> RepeatPlan(const StreamPlan& upstream, std::optional<int64_t> passes);

}  // namespace easydata::order
