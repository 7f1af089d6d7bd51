#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::mix {

/// Chooses the source of each row as Grain's `MapDataset.mix` and `IterDataset.mix` do: a pure
/// function of the row's number, without a generator. For mixes that have to equal Grain's.
///
/// Weights become integers, 100 for the smallest. Data set i then takes its share of the rows that
/// those before it left, each as soon as it is due.
class GrainMix {
 public:
  /// A row of the mix: row `row` of data set `source`.
  struct SourceRow {
    size_t source;
    uint64_t row;
  };

  /// Invalid unless there are weights and all are above 0 and finite.
  static Result<GrainMix> Make(std::span<const double> weights);

  SourceRow At(uint64_t row) const;

  /// By data set, its rows among the first `rows` of the mix.
  std::vector<int64_t> Given(uint64_t rows) const;

  /// Number of rows before one data set of these lengths would be read beyond its end, as Grain
  /// counts them. There are as many `lengths` as weights.
  uint64_t Length(std::span<const uint64_t> lengths) const;

 private:
  explicit GrainMix(std::vector<uint64_t> shares);

  std::vector<uint64_t> shares_;
  uint64_t total_ = 0;
};

}  // namespace easydata::mix
