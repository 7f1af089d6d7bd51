#include "easydata/plan/packed_plan.h"

#include <limits>

#include "easydata/config/descriptor.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/pack/balance_stage.h"
#include "easydata/pack/pack_stage.h"
#include "easydata/pack/packing_strategy.h"

namespace easydata::plan {
namespace {

// Rows of a shuffle window, by the unit of shuffle_buffer_factor.
constexpr int64_t kRowsPerFactor = 100;

}  // namespace

config::FieldList PackedOptions::StageFields(const char* shuffle) {
  using O = PackedOptions;
  return config::Joined(
      {config::FieldsOf(&O::pack),
       {
           config::Field{"shuffle_buffer_factor", &O::shuffle_buffer_factor,
                         "Hundreds of rows in a shuffle window."}
               .AtLeast(1)
               .ActsAt({"pack.shuffle"})
               .Beside(shuffle, {true})
               .Beside("strategy", pack::StrategiesThat(&pack::PackingStrategy::shuffles_bins,
                                                        /*value=*/false)),
           config::Field{
               "balance_groups", &O::balance_groups,
               "Order the rows of each step of the loader so that this many equal parts of it "
               "cost about the same, by the sum of the segments' squared lengths; it divides the "
               "loader's batch size. 1: leave them as they come."}
               .AtLeast(1)
               .ActsAt({"pack.balance"}),
       }});
}

config::FieldList PackedOptions::Fields() {
  using O = PackedOptions;
  return config::Joined(
      {StageFields("shuffle"),
       config::FieldsOf(&O::pack, {config::Field{"input_field", &pack::PackOptions::input_field,
                                                 "The column of tokens."}}),
       {
           config::Field{"shuffle", &O::shuffle, kShuffleText},
           config::Field{"seed", &O::seed, "Seed of the shuffle; unset: 0."}.OrNone().Beside(
               "shuffle", {true}),
       }});
}

Status PackedOptions::Validate() const {
  ARROW_RETURN_NOT_OK(config::CheckOptions(*this));
  if (shuffle_buffer_factor > std::numeric_limits<int64_t>::max() / kRowsPerFactor) {
    return Status::Invalid("shuffle_buffer_factor: so many rows cannot be counted");
  }
  return pack.Validate();
}

Result<StreamPlan> PackedPlan(const StreamPlan& upstream, const PackedOptions& options,
                              pack::PackWiring wiring) {
  ARROW_RETURN_NOT_OK(options.Validate());
  const bool shuffles_bins =
      options.shuffle && pack::StrategyOf(options.pack.strategy).shuffles_bins;
  wiring.shuffle_bins = shuffles_bins;
  if (shuffles_bins) wiring.seed = options.seed;
  ARROW_ASSIGN_OR_RAISE(StreamPlan plan, pack::PackPlan(upstream, options.pack, wiring));
  if (options.shuffle && !shuffles_bins) {
    order::WindowShuffleOptions shuffle;
    shuffle.rows = options.shuffle_buffer_factor * kRowsPerFactor;
    shuffle.seed = options.seed;
    shuffle.in_steps = true;
    shuffle.most_steps = options.most_steps;
    ARROW_ASSIGN_OR_RAISE(plan, order::WindowShufflePlan(plan, shuffle, "pack.shuffle"));
  }
  return options.balance_groups > 1 ? pack::BalancePlan(plan, options.balance_groups) : plan;
}

}  // namespace easydata::plan
