#include "easydata/stream/unit.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/stage.h"

namespace easydata {
namespace {

/// Reads a number that is not below `least`.
Result<int64_t> NumberIn(const nlohmann::json& value, int64_t least) {
  if (IsWholeNumber(value) && value >= least) return value.get<int64_t>();
  return Status::Invalid("the description of a unit is damaged: ", value.dump(), " is no number");
}

}  // namespace

nlohmann::json ToJson(const Unit& unit) {
  nlohmann::json runs = nlohmann::json::array();
  for (const BlockRun& run : unit.runs) runs.push_back({run.shard, run.begin, run.end});
  return {{"unit", unit.number}, {"bytes", unit.bytes}, {"runs", std::move(runs)}};
}

Result<Unit> UnitFromJson(const nlohmann::json& value) {
  for (const char* key : {"unit", "bytes", "runs"}) {
    if (value.is_object() && value.contains(key)) continue;
    return Status::Invalid("the description of a unit is damaged: it has no \"", key, "\"");
  }
  Unit unit;
  ARROW_ASSIGN_OR_RAISE(unit.number, NumberIn(value.at("unit"), 0));
  ARROW_ASSIGN_OR_RAISE(unit.bytes, NumberIn(value.at("bytes"), 0));
  if (!value.at("runs").is_array()) {
    return Status::Invalid("the description of a unit is damaged: \"runs\" is no list");
  }
  for (const nlohmann::json& run : value.at("runs")) {
    if (!run.is_array() || run.size() != 3) {
      return Status::Invalid("the description of a unit is damaged: a run is ", run.dump());
    }
    ARROW_ASSIGN_OR_RAISE(const int64_t shard, NumberIn(run[0], 0));
    ARROW_ASSIGN_OR_RAISE(const int64_t begin, NumberIn(run[1], 0));
    ARROW_ASSIGN_OR_RAISE(const int64_t end, NumberIn(run[2], BlockRun::kWhole));
    unit.runs.push_back({static_cast<size_t>(shard), begin, end});
  }
  return unit;
}

}  // namespace easydata
