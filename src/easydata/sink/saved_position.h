#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "easydata/base/status.h"
#include "easydata/sink/row_groups.h"

namespace easydata::sink {

// Where a stream goes on after a shard, as the progress file has it.

nlohmann::json StateJson(const StreamPosition& position);

/// Reads the position after a group of `rows` rows: it can pass over no more rows than these.
Result<StreamPosition> PositionFromJson(const nlohmann::json& saved, int64_t rows);

/// What was dropped, of a saved position or of an output's metadata.
Result<DropTotals> DroppedFromJson(const nlohmann::json& saved);

}  // namespace easydata::sink
