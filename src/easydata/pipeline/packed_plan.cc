#include "easydata/pipeline/packed_plan.h"

#include <limits>

#include "easydata/config/descriptor.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/pack/balance_stage.h"
#include "easydata/pack/pack_stage.h"
#include "easydata/pack/packing_strategy.h"

namespace easydata::pipeline {
namespace {

// Rows of a shuffle window, by the unit of shuffle_buffer_factor.
constexpr int64_t kRowsPerFactor = 100;

}  // namespace

Status PackedOptions::Validate() const {
  ARROW_RETURN_NOT_OK(config::CheckOptions(*this));
  if (shuffle_buffer_factor > std::numeric_limits<int64_t>::max() / kRowsPerFactor) {
    return Status::Invalid("shuffle_buffer_factor: so many rows cannot be counted");
  }
  return pack.Validate();
}

Result<StreamPlan> PackedPlan(const StreamPlan& upstream, const PackedOptions& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  const bool shuffles_bins =
      options.shuffle && pack::StrategyOf(options.pack.strategy).shuffles_bins;
  pack::PackOptions pack = options.pack;
  pack.shuffle_bins = shuffles_bins;
  if (shuffles_bins) pack.seed = options.seed;
  ARROW_ASSIGN_OR_RAISE(StreamPlan plan, pack::PackPlan(upstream, pack));
  if (options.shuffle && !shuffles_bins) {
    order::WindowShuffleOptions shuffle;
    shuffle.rows = options.shuffle_buffer_factor * kRowsPerFactor;
    shuffle.seed = options.seed;
    shuffle.in_steps = true;
    ARROW_ASSIGN_OR_RAISE(plan, order::WindowShufflePlan(plan, shuffle, "pack.shuffle"));
  }
  return options.balance_groups > 1 ? pack::BalancePlan(plan, options.balance_groups) : plan;
}

}  // namespace easydata::pipeline
