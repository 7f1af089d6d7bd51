#pragma once

#include <cstdint>
#include <tuple>

#include "easydata/config/field.h"
#include "easydata/pack/pack_options.h"
#include "easydata/stream/plan.h"

namespace easydata::pipeline {

/// The options for packing documents, and for shuffling and balancing the rows.
struct PackedOptions {
  pack::PackOptions pack;
  bool shuffle = true;
  /// Windows have this many times 100 rows.
  int64_t shuffle_buffer_factor = 10;
  uint64_t seed = 0;
  int64_t balance_groups = 1;

  static constexpr const char* kName = "PackedOptions";
  static constexpr const char* kDoc = "The options of easydata.PackedShardedSource.";
  /// Those of the manual, in its order; newer ones come after them.
  static constexpr const char* kFirst[] = {"seq_length",  "eos_token_id", "pad_token_id",
                                           "strategy",    "num_packers",  "include_segment_ids",
                                           "input_field", "shuffle",      "shuffle_buffer_factor",
                                           "seed"};

  /// The options that a pipeline's stage has, too.
  static auto StageFields() {
    using O = PackedOptions;
    return std::tuple_cat(
        config::FieldsOf(&O::pack, pack::PackOptions::Fields()),
        std::tuple{
            config::Field{"shuffle_buffer_factor", &O::shuffle_buffer_factor,
                          "Hundreds of rows in a shuffle window."}
                .AtLeast(1),
            config::Field{
                "balance_groups", &O::balance_groups,
                "Order the rows of each step of the loader so that this many equal parts of it "
                "cost about the same, by the sum of the segments' squared lengths; it divides the "
                "loader's batch size. 1: leave them as they come."}
                .AtLeast(1),
        });
  }
  static auto Fields() {
    using O = PackedOptions;
    return std::tuple_cat(
        StageFields(),
        config::FieldsOf(&O::pack,
                         std::tuple{config::Field{"input_field", &pack::PackOptions::input_field,
                                                  "The column of tokens."}}),
        std::tuple{
            config::Field{"shuffle", &O::shuffle, kShuffleText},
            config::Field{"seed", &O::seed, "Seed of the shuffle; unset: 0."}.OrNone(),
        });
  }
  static constexpr const char* kShuffleText =
      "Shuffle rows within windows, in another order in every epoch; with grain_first_fit and "
      "grain_best_fit the bins of a group, as Grain's shuffle_bins does.";

  Status Validate() const;
};

/// Packs the documents of `upstream`, shuffles the rows and balances them, as the options say.
Result<StreamPlan> PackedPlan(const StreamPlan& upstream, const PackedOptions& options);

}  // namespace easydata::pipeline
