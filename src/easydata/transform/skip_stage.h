#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "easydata/stream/stage.h"

namespace easydata::transform {

/// Gives the rows of a stream but for its first `rows`. Where the stream knows its rows it is
/// entered behind them; else they are read and dropped. `make` makes the stage that is read. Its
/// cursor is the upstream's and how many rows are yet to be dropped.
Result<std::unique_ptr<Stage>> MakeSkipStage(std::function<Result<std::unique_ptr<Stage>>()> make,
                                             int64_t rows);

}  // namespace easydata::transform
