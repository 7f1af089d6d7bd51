#include "easydata/loader/step_options.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace easydata::loader {

config::FieldList StepOptions::Fields() {
  using O = StepOptions;
  return {
      config::Field{"batch_size", &O::batch_size,
                    "Rows of a step, over all ranks; a multiple of world_size and of lanes."}
          .AtLeast(1),
      config::Field{
          "drop_last", &O::drop_last,
          "Leave out a last batch that is not full. Otherwise it is short or, with several "
          "ranks, filled up with rows of attention_mask 0 and labels -100."},
      config::Field{"rank", &O::rank, "Which part of every step this process gets, from 0."}
          .AtLeast(0),
      config::Field{"world_size", &O::world_size, "Processes that share the stream."}.AtLeast(1),
      config::Field{
          "lanes", &O::lanes,
          "Independent parts of the stream, each with its own share of the data, mixed and "
          "packed by itself; lane l gives the l-th of so many equal parts of every step, and a "
          "rank reads only the lanes that its rows are in. More than 1 needs `steps`, a mix that "
          "never ends, or files that tell how many rows they have: such lanes end together with "
          "the shortest, and what the others have beyond that is dropped, and counted so."}
          .AtLeast(1),
      config::Field{
          "steps", &O::steps,
          "Batches for each iter() of the loader, over as many passes as that takes: the next "
          "one goes on where this one ended. Unset: as many as `epochs` have."}
          .AtLeast(1),
      config::Field{
          "batch_rampup", &O::rampup,
          "{step: factor}: batch_size is multiplied by the factor from the step on; whole "
          "factors, and steps that count on from epoch to epoch."}
          .OrNone(),
  };
}

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
