#include "easydata/loader/loader_state.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "easydata/loader/fold_objects.h"

namespace easydata::loader {
namespace {

constexpr int kStateVersion = 1;
constexpr char kKind[] = "easydata.loader";

/// Invalid unless the state has a count under `key`.
Status CheckNumber(const nlohmann::json& state, const char* key) {
  if (!state.contains(key) || !state.at(key).is_number_integer()) {
    return Status::Invalid("the saved state is damaged: it lacks the number '", key, "'");
  }
  return CheckSaved(state.at(key));
}

Status CheckKey(const nlohmann::json& state, const char* key) {
  if (state.contains(key)) return Status::OK();
  return Status::Invalid("the saved state is damaged: it lacks '", key, "'");
}

/// The first key in which two objects differ; nothing where they are equal.
std::string FirstDifference(const nlohmann::json& a, const nlohmann::json& b) {
  for (const auto& [key, value] : a.items()) {
    if (!b.contains(key) || b.at(key) != value) return key;
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) return key;
  }
  return "";
}

}  // namespace

void SaveLane(const LanePosition& position, const TokenCounts& counts, const nlohmann::json& names,
              nlohmann::json* state) {
  nlohmann::json& lane = *state;
  lane["epoch"] = position.epoch;
  lane["skip"] = position.skip;
  lane["cursor"] = FoldObjects(position.cursor.ToJson(), names);
  lane["sources"] = FoldObjects(counts.ToJson(), names);
  if (position.watermark.block >= 0)
    lane["reach"] = {position.watermark.epoch, position.watermark.block};
}

nlohmann::json NamesOfMix(const nlohmann::json& state) {
  if (!state.contains("mix")) return nullptr;
  nlohmann::json names = state.at("mix").at("mix.sources");
  std::sort(names.begin(), names.end());
  return names;
}

Result<SavedLane> LoadLane(const nlohmann::json& state, const nlohmann::json& names) {
  ARROW_RETURN_NOT_OK(CheckNumber(state, "epoch"));
  ARROW_RETURN_NOT_OK(CheckNumber(state, "skip"));
  ARROW_RETURN_NOT_OK(CheckKey(state, "cursor"));
  ARROW_RETURN_NOT_OK(CheckKey(state, "sources"));
  ARROW_ASSIGN_OR_RAISE(const auto counts, UnfoldObjects(state.at("sources"), names));
  ARROW_RETURN_NOT_OK(CheckSaved(counts));
  SavedLane lane;
  ARROW_ASSIGN_OR_RAISE(lane.counts, TokenCounts::FromJson(counts));
  lane.position.epoch = state.at("epoch").get<int64_t>();
  lane.position.skip = state.at("skip").get<int64_t>();
  ARROW_ASSIGN_OR_RAISE(auto cursor, UnfoldObjects(state.at("cursor"), names));
  if (!cursor.is_object() && !cursor.is_null()) {
    return Status::Invalid("the saved state is damaged: its cursor is ", cursor.dump());
  }
  ARROW_RETURN_NOT_OK(CheckSaved(cursor));
  lane.position.cursor = Cursor(std::move(cursor));
  if (state.contains("reach")) {
    const nlohmann::json& watermark = state.at("reach");
    ARROW_RETURN_NOT_OK(CheckSaved(watermark));
    lane.position.watermark = {watermark.at(0).get<int64_t>(), watermark.at(1).get<int64_t>()};
  }
  return lane;
}

nlohmann::json StateHead() { return {{"version", kStateVersion}, {"kind", kKind}}; }

Status CheckState(const nlohmann::json& state) {
  if (!state.is_object() || !state.contains("version") || !state.contains("kind") ||
      state.at("kind") != kKind) {
    if (state.is_object() && state.contains("rows_taken") && state.contains("loader")) {
      return Status::Invalid(
          "this is a state of easydata.torch.dataset() within a batch: load it there, or hand over "
          "what it has as \"loader\", the loader's state before that batch");
    }
    return Status::Invalid("this is not a state of a loader: load what state_dict() returned");
  }
  if (state.at("version") != kStateVersion) {
    return Status::Invalid("the saved state has version ", state.at("version").dump(),
                           ", this EasyData reads version ", kStateVersion,
                           "; load it with the release that saved it");
  }
  ARROW_RETURN_NOT_OK(CheckNumber(state, "step"));
  ARROW_RETURN_NOT_OK(CheckNumber(state, "rows"));
  for (const char* key : {"pass_start", "edited"}) {
    if (state.contains(key)) ARROW_RETURN_NOT_OK(CheckNumber(state, key));
  }
  return CheckKey(state, "plan");
}

Result<nlohmann::json> MergeStates(const std::vector<nlohmann::json>& states) try {
  if (states.empty()) return Status::Invalid("states: there is none to merge");
  for (const nlohmann::json& state : states) ARROW_RETURN_NOT_OK(CheckState(state));
  nlohmann::json merged = states[0];
  for (size_t i = 1; i < states.size(); ++i) {
    nlohmann::json state = states[i];
    nlohmann::json lanes = nlohmann::json::object();
    if (merged.contains("lanes") && state.contains("lanes")) {
      lanes = std::move(state["lanes"]);
      state["lanes"] = merged.at("lanes");
    }
    if (const std::string key = FirstDifference(merged, state); !key.empty()) {
      return Status::Invalid("states[", i, "] and states[0] are not of the same step of the same ",
                             "stream: '", key, "' differs; merge what all ranks saved after the ",
                             "same batch");
    }
    for (auto& [lane, saved] : lanes.items()) {
      nlohmann::json& lane_state = merged["lanes"][lane];
      if (!lane_state.is_null() && lane_state != saved) {
        return Status::Invalid("states[", i, "] has lane ", lane, " at another position than a ",
                               "state before it; merge what all ranks saved after the same batch");
      }
      lane_state = std::move(saved);
    }
  }
  if (!merged.contains("lanes")) return merged;
  ARROW_RETURN_NOT_OK(CheckNumber(merged, "num_lanes"));
  for (int64_t lane = 0; lane < merged.at("num_lanes").get<int64_t>(); ++lane) {
    if (merged.at("lanes").contains(std::to_string(lane))) continue;
    return Status::Invalid("states: none has lane ", lane, " of ", merged.at("num_lanes").dump(),
                           "; merge the states of all ranks");
  }
  return merged;
} catch (const nlohmann::json::exception& error) {
  return DamagedState(error);
}

}  // namespace easydata::loader
