#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Rows of each shard, where they are known.
using ShardRows = std::function<Result<std::optional<std::vector<int64_t>>>()>;

/// Keeps the rows of one of `context.lanes` lanes, partitioned by their number in their shard.
///
/// For data that cannot be partitioned in larger parts. Returns `upstream` itself if there is one
/// lane. Its cursor is the upstream's. `shard_rows` is called where the upstream knows how many
/// rows it has; without it the lane does not know how many it has.
std::unique_ptr<Stage> SelectLaneRows(std::unique_ptr<Stage> upstream, const StageContext& context,
                                      ShardRows shard_rows = nullptr);

}  // namespace easydata
