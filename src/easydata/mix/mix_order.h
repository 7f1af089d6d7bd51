#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/mix/block_mixer.h"
#include "easydata/mix/weight_schedule.h"

namespace easydata {

/// When a mix ends.
enum class StopStrategy {
  kRestart,         // never: a source that ends starts again
  kFirstExhausted,  // as soon as an example is wanted of a source that has no more
  kAllExhausted,    // when each has been given out whole; those that end before start again
};

Result<StopStrategy> ParseStopStrategy(const std::string& name);
const char* StopStrategyName(StopStrategy stop);

struct MixOptions {
  std::vector<std::string> names;
  /// By source; empty: equal. Not used where there is a schedule.
  std::vector<double> weights;
  /// Its names are those of the mix, in the same order.
  std::optional<WeightSchedule> schedule;
  StepClock clock;
  int64_t block_size = 1000;
  uint64_t seed = 0;
  StopStrategy stop = StopStrategy::kRestart;
  /// Adds a column `__source__` (utf8) with each example's source.
  bool add_source = true;
  /// The column whose lengths the clock counts, where it counts tokens.
  std::string token_column = "input_ids";

  Status Validate() const;
  /// The keys "mix.*" of a plan.
  nlohmann::json Description() const;
};

/// The sources of a mix's examples, block by block, with the weights that hold at each block's
/// start.
class MixOrder {
 public:
  static Result<MixOrder> Make(const MixOptions& options);

  /// Starts block number block(); `tokens` were given out in the blocks before.
  void StartBlock(int64_t tokens);
  void EndBlock() { mixer_.EndBlock(); }

  int64_t block() const { return mixer_.block(); }
  int64_t block_size() const { return mixer_.block_size(); }
  const std::vector<int32_t>& order() const { return mixer_.order(); }
  /// Tokens that were given out before the block started: what its weights were read by.
  int64_t tokens_at_start() const { return tokens_at_start_; }

  /// The position at the block's start.
  void Save(nlohmann::json* cursor) const;
  Status Restore(const nlohmann::json& cursor);

  /// Whether a source can be picked at all.
  bool Wanted(int source) const;

 private:
  MixOrder(MixOptions options, BlockMixer mixer);

  MixOptions options_;
  std::vector<double> weights_;  // without a schedule
  BlockMixer mixer_;
  int64_t tokens_at_start_ = 0;
};

}  // namespace easydata
