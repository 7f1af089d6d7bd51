#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/mix/mix_order.h"
#include "easydata/stream/batch.h"

namespace easydata::mix {

/// A mix and the block that it ends before.
struct MixPhase {
  MixSettings options;
  int64_t until = std::numeric_limits<int64_t>::max();
};

/// Reads the mixes that come before the one that a stage was made for, in order, from the stage's
/// cursor: `{"mix": {"before": [{"until": block, "mix": {"mix.seed": ...}}]}}`. They are part of
/// the position: there are none once the last edit has acted.
Result<std::vector<MixPhase>> PhasesBefore(const nlohmann::json& cursor);

/// Writes what PhasesBefore() reads: all phases but the last.
nlohmann::json DescribePhases(const std::vector<MixPhase>& phases);

/// The keys "mix.*" of a plan: what an edit may change, and what a state keeps of its mix. Nothing
/// where the plan has no mix.
nlohmann::json MixKeys(const nlohmann::json& description);

/// Removes what an edit of the mix may change from two descriptions, of a saved plan and of the
/// plan that goes on from it: the keys of the mix, and those of sources that only one of them has.
/// `mix` are the MixKeys() of the saved plan. Invalid where either has Grain's order.
Status ForgetEdits(const nlohmann::json& mix, nlohmann::json* saved, nlohmann::json* current);

/// Turns the saved position of a stream, `cursor`, into one that goes on under another mix: `mix`,
/// the "mix.*" keys of the stream that saved it, stays in force up to `watermark`, which is as far
/// as the open windows had been read. Invalid where the stream has no mix, or was read into its
/// next pass.
Status EditMix(const nlohmann::json& mix, const MixWatermark::Boundary& watermark,
               nlohmann::json* cursor);

}  // namespace easydata::mix
