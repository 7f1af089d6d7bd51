#pragma once

#include <cstdint>

#include "easydata/config/field.h"
#include "easydata/pack/pack_options.h"
#include "easydata/stream/plan.h"

namespace easydata::plan {

/// The options for packing documents, and for shuffling and balancing the rows.
struct PackedOptions {
  pack::PackOptions pack;
  bool shuffle = true;
  /// Windows have this many times 100 rows.
  int64_t shuffle_buffer_factor = 10;
  uint64_t seed = 0;
  int64_t balance_groups = 1;
  /// WindowShuffleOptions::most_steps; follows from the schedule upstream.
  int64_t most_steps = 0;

  static constexpr const char* kName = "PackedOptions";
  static constexpr const char* kDoc = "The options of easydata.PackedShardedSource.";
  static constexpr const char* kNodes[] = {"pack", "pack.shuffle"};
  /// Those of the manual, in its order; newer ones come after them.
  static constexpr const char* kFirst[] = {"seq_length",  "eos_token_id", "pad_token_id",
                                           "strategy",    "num_packers",  "include_segment_ids",
                                           "input_field", "shuffle",      "shuffle_buffer_factor",
                                           "seed"};

  /// The options that a pipeline's stage has, too; `shuffle` is what it calls the shuffle.
  static config::FieldList StageFields(const char* shuffle);
  static config::FieldList Fields();
  static constexpr const char* kShuffleText =
      "Shuffle rows within windows, in another order in every epoch; with grain_first_fit and "
      "grain_best_fit the bins of a group, as Grain's shuffle_bins does.";

  Status Validate() const;
};

/// Packs the documents of `upstream`, shuffles the rows and balances them, as the options say.
Result<StreamPlan> PackedPlan(const StreamPlan& upstream, const PackedOptions& options,
                              pack::PackWiring wiring = {});

}  // namespace easydata::plan
