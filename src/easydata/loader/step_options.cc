#include "easydata/loader/step_options.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace easydata::loader {

void StepOptions::Check(const std::string& path, config::Problems* problems) const {
  const auto refuse = [&](const std::string& name, std::string text) {
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, name), std::move(text)});
  };
  const auto divides = [&](const char* name, int64_t parts, const char* counted) {
    if (batch_size % parts == 0) return;
    refuse("batch_size", "must be a multiple of " + std::string(name) + " (" +
                             std::to_string(parts) + "), not " + std::to_string(batch_size) +
                             ": it counts the rows of all " + counted);
  };
  if (rank >= world_size) {
    refuse("rank", "must be less than world_size (" + std::to_string(world_size) + "), not " +
                       std::to_string(rank));
  }
  divides("world_size", world_size, "ranks");
  divides("lanes", lanes, "lanes");
  for (const auto& [step, factor] : rampup) {
    const std::string name = "batch_rampup[" + std::to_string(step) + "]";
    if (step < 0) {
      refuse(name, "is no step: they are counted from 0");
    } else if (factor < 1) {
      refuse(name, "must be at least 1, not " + std::to_string(factor));
    } else if (factor > std::numeric_limits<int64_t>::max() / batch_size) {
      refuse(name, "makes more rows than can be counted: " + std::to_string(factor) +
                       " times batch_size (" + std::to_string(batch_size) + ")");
    }
  }
}

int64_t StepOptions::SizeOf(int64_t step) const {
  const auto next = rampup.upper_bound(step);
  return next == rampup.begin() ? batch_size : batch_size * std::prev(next)->second;
}

int64_t StepOptions::RowsBefore(int64_t step) const {
  int64_t rows = 0;
  int64_t from = 0;
  for (const auto& [first, factor] : rampup) {
    if (first >= step) break;
    rows += (first - from) * SizeOf(from);
    from = first;
  }
  return rows + (step - from) * SizeOf(from);
}

bool StepOptions::Countable(int64_t step) const {
  int64_t largest = batch_size;
  for (const auto& [first, factor] : rampup) largest = std::max(largest, batch_size * factor);
  return step < std::numeric_limits<int64_t>::max() / largest;
}

StepOptions::Range StepOptions::LanesRead() const {
  return {rank * lanes / world_size, ((rank + 1) * lanes + world_size - 1) / world_size};
}

Demand StepOptions::AsDemand() const {
  Demand demand;
  if (!rampup.contains(0)) demand.step_rows.push_back({0, batch_size});
  for (const auto& [step, factor] : rampup) {
    demand.step_rows.push_back({step, batch_size * factor});
  }
  demand.passes = carried_passes;
  return demand;
}

}  // namespace easydata::loader
