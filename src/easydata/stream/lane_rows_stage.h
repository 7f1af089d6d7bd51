#pragma once

#include <memory>

#include "easydata/base/status.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Keeps the rows of one of `context.lanes` lanes, dealt by their number in their shard: for data
/// that cannot be dealt in larger parts. The stage itself if there is one lane. Its cursor is the
/// upstream's.
std::unique_ptr<Stage> DealRows(std::unique_ptr<Stage> upstream, const StageContext& context);

}  // namespace easydata
