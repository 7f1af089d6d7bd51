#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/source.h"
#include "easydata/stream/unit.h"

namespace easydata::source {

/// Divides shards, in their order, into units of about `bytes`: shards that are not larger are put
/// together as long as they fit; a larger one is cut between its blocks into parts of nearly equal
/// numbers of blocks. A shard whose size is not known is one unit. There is one unit at least.
Result<std::vector<Unit>> DivideIntoUnits(const Source& source, const std::vector<size_t>& shards,
                                          int64_t bytes, OnError on_missing);

}  // namespace easydata::source
