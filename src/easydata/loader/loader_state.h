#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/loader/lane_reader.h"
#include "easydata/loader/token_counts.h"

namespace easydata::loader {

// The saved state of a loader is
//
//   {"version", "kind", "plan": what must be the same, "mix": what may be edited, "edited": step of
//    the last edit, "step", "rows", "pass_start", <lane>}
//
// where <lane> is {"epoch", "skip", "cursor", "sources": counts, "reach": watermark}, folded
// (FoldObjects), for a stream of one lane, and {"lanes": {"0": {...}, ...}, "num_lanes"} for
// several: those that the rank reads.

/// One lane of a state.
struct SavedLane {
  LanePosition position;
  TokenCounts counts;
};

/// The keys that mark a state as one.
nlohmann::json StateHead();

/// Adds a lane to `state`. `names`: of the mix's sources, sorted; null where there is no mix.
void SaveLane(const LanePosition& position, const TokenCounts& counts, const nlohmann::json& names,
              nlohmann::json* state);
/// Invalid where the state is damaged, saying what it lacks.
Result<SavedLane> LoadLane(const nlohmann::json& state, const nlohmann::json& names);
/// The names of the sources of the mix that a state is of.
nlohmann::json NamesOfMix(const nlohmann::json& state);

/// OK for a state of a loader, of this version; else Invalid.
Status CheckState(const nlohmann::json& state);

/// Merges the states that all ranks saved after one step into one that any rank can resume from.
///
/// Invalid, naming what differs or is missing: states of other streams or steps, lanes that no
/// state has or that two have at different positions. States of one lane are all the same.
Result<nlohmann::json> MergeStates(const std::vector<nlohmann::json>& states);

}  // namespace easydata::loader
