#pragma once

#include <memory>

#include "easydata/stream/stage.h"

namespace easydata::transform {

/// Gives the first `max_rows` rows of `upstream`, then ends. Its cursor is the upstream's and the
/// rows given so far.
Result<std::unique_ptr<Stage>> MakeLimitStage(std::unique_ptr<Stage> upstream, int64_t max_rows);

}  // namespace easydata::transform
