#include "easydata/mix/mix_edit.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "easydata/stream/stage.h"

namespace easydata::mix {
namespace {

/// The cursor of the outermost mix within that of a stage downstream, or null.
nlohmann::json* FindMix(nlohmann::json* cursor) {
  while (cursor->is_object()) {
    if (cursor->contains("mix")) return cursor;
    if (!cursor->contains("upstream")) return nullptr;
    cursor = &cursor->at("upstream");
  }
  return nullptr;
}

/// A plan's keys of the mix, "mix.weights", as the mix itself has them: "weights".
nlohmann::json WithoutPrefix(const nlohmann::json& keys) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [key, value] : keys.items()) out[key.substr(key.find('.') + 1)] = value;
  return out;
}

}  // namespace

Result<std::vector<MixPhase>> PhasesBefore(const nlohmann::json& cursor) {
  std::vector<MixPhase> phases;
  const nlohmann::json& mix = cursor.at("mix");
  if (!mix.contains("before")) return phases;
  for (const nlohmann::json& saved : mix.at("before")) {
    MixPhase phase;
    ARROW_RETURN_NOT_OK(CheckSaved(saved.at("until")));
    ARROW_ASSIGN_OR_RAISE(phase.options, MixSettings::FromDescription(saved.at("mix")));
    phase.until = saved.at("until").get<int64_t>();
    phases.push_back(std::move(phase));
  }
  return phases;
}

nlohmann::json DescribePhases(const std::vector<MixPhase>& phases) {
  nlohmann::json out = nlohmann::json::array();
  for (size_t i = 0; i + 1 < phases.size(); ++i) {
    out.push_back({{"until", phases[i].until}, {"mix", phases[i].options.Description()}});
  }
  return out;
}

nlohmann::json MixKeys(const nlohmann::json& description) {
  nlohmann::json keys = nlohmann::json::object();
  if (!description.contains("mix.sources")) return keys;
  for (const auto& [key, value] : description.items()) {
    if (key.rfind("mix.", 0) == 0) keys[key] = value;
  }
  return keys;
}

Status ForgetEdits(const nlohmann::json& mix, nlohmann::json* saved, nlohmann::json* current) {
  if (!current->contains("mix.sources")) {
    return Status::Invalid("allow=(\"mix\",): the stream that resumes must have a mix, too");
  }
  // Grain's mix changes at the row of the checkpoint, an edit at the end of a block.
  const std::string grain = NameOf(NamesOf(MixOrderKind::kGrain), MixOrderKind::kGrain);
  if (mix.at("mix.order") == grain || current->at("mix.order") == grain) {
    return Status::Invalid(
        "allow=(\"mix\",): a mix with order=\"grain\" cannot be edited, nor another be edited into "
        "one; resume with the mix that the state has, or start anew");
  }
  const auto names_before = mix.at("mix.sources").get<std::set<std::string>>();
  const auto names_now = current->at("mix.sources").get<std::set<std::string>>();
  const auto forget = [](const std::set<std::string>& names, const std::set<std::string>& others,
                         nlohmann::json* description) {
    std::vector<std::string> edited;
    for (const std::string& name : names) {
      if (!others.contains(name)) edited.push_back("sources[" + name + "].");
    }
    for (auto key = description->begin(); key != description->end();) {
      const auto starts = [&](const std::string& prefix) {
        return key.key().rfind(prefix, 0) == 0;
      };
      // Rows have the column or not, both before and after the edit.
      const bool of_mix = starts("mix.") && key.key() != "mix.add_source";
      const bool gone = of_mix || std::any_of(edited.begin(), edited.end(), starts);
      key = gone ? description->erase(key) : std::next(key);
    }
  };
  forget(names_before, names_now, saved);
  forget(names_now, names_before, current);
  return Status::OK();
}

Status EditMix(const nlohmann::json& mix, const MixWatermark::Boundary& watermark,
               nlohmann::json* cursor) {
  nlohmann::json* found = FindMix(cursor);
  if (found == nullptr) {
    return Status::Invalid("allow=(\"mix\",): the saved stream has no mix that could be edited");
  }
  nlohmann::json& state = found->at("mix");
  if (state.at("epoch").get<int64_t>() != watermark.epoch) {
    return Status::Invalid(
        "allow=(\"mix\",): the mix was about to start its next pass when the state was saved, and "
        "cannot be edited there; resume without the edit, and edit a state saved a little later");
  }
  // A pending phase ends where this edit acts, if not before.
  nlohmann::json before = nlohmann::json::array();
  bool reached = false;
  if (state.contains("before")) {
    for (nlohmann::json phase : state.at("before")) {
      ARROW_RETURN_NOT_OK(CheckSaved(phase.at("until")));
      reached = phase.at("until").get<int64_t>() >= watermark.block;
      if (reached) phase["until"] = watermark.block;
      before.push_back(std::move(phase));
      if (reached) break;
    }
  }
  if (!reached) before.push_back({{"until", watermark.block}, {"mix", WithoutPrefix(mix)}});
  state["before"] = std::move(before);
  return Status::OK();
}

}  // namespace easydata::mix
