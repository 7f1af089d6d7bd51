#pragma once

#include <cstdint>

#include "easydata/pack/pack_options.h"
#include "easydata/stream/plan.h"

namespace easydata {

/// How documents become packed rows in an order of their own.
struct PackedOptions {
  PackOptions pack;
  /// Permutes rows within windows; with Grain's bins the bins of a group, as Grain does.
  bool shuffle = true;
  /// Hundreds of rows in a window.
  int64_t shuffle_buffer_factor = 10;
  uint64_t seed = 0;
  /// Equal, contiguous parts of a loader's step that are to cost the same.
  int64_t balance_groups = 1;

  Status Validate() const;
};

/// Packs the documents of `upstream`, shuffles the rows and balances them, as the options say.
Result<StreamPlan> PackedPlan(const StreamPlan& upstream, const PackedOptions& options);

}  // namespace easydata
