#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/named_value.h"
#include "easydata/base/status.h"
#include "easydata/config/field.h"
#include "easydata/mix/block_mixer.h"
#include "easydata/mix/grain_mix.h"
#include "easydata/mix/token_shares.h"
#include "easydata/mix/weight_schedule.h"
#include "easydata/stream/vocabulary.h"

namespace easydata::mix {

/// When a mix ends.
enum class StopStrategy {
  kRestart,         // never: a source that ends starts again
  kFirstExhausted,  // as soon as an example is wanted from a source that has no more
  kAllExhausted,    // when each has been given out whole; those that end before start again
};

std::span<const NamedValue<StopStrategy>> NamesOf(StopStrategy);

/// The unit that weights are shares of.
enum class MixUnit { kExamples, kTokens };

std::span<const NamedValue<MixUnit>> NamesOf(MixUnit);

/// What the steps of a weight schedule count.
enum class ScheduleUnit {
  kExamples,  // that were given out
  kSteps,     // of the loader downstream; where there is none, examples
};

std::span<const NamedValue<ScheduleUnit>> NamesOf(ScheduleUnit);

/// What decides which source is next.
enum class MixOrderKind {
  kBlocks,  // the shares of a block, which the seed orders (BlockMixer), or of tokens (TokenShares)
  kGrain,   // the number of the row, as in Grain's mix (GrainMix)
};

std::span<const NamedValue<MixOrderKind>> NamesOf(MixOrderKind);

/// What users set of a mix.
struct MixOptions {
  static constexpr const char* kName = "MixOptions";
  static constexpr const char* kDoc = "The options of easydata.MixedShardedSource.";
  static constexpr const char* kNodes[] = {"mix"};

  std::vector<std::string> names;
  /// By source; empty: equal. Not used where there is a schedule.
  std::vector<double> weights;
  /// Its names are those of the mix, in the same order.
  std::optional<WeightSchedule> schedule;
  ScheduleUnit schedule_unit = ScheduleUnit::kExamples;
  MixUnit unit = MixUnit::kExamples;
  MixOrderKind order = MixOrderKind::kBlocks;
  int64_t block_size = 1000;
  uint64_t seed = 0;
  StopStrategy stop = StopStrategy::kRestart;
  /// They change no row, and are no part of the plan.
  VocabularyOptions vocabularies;

  static config::FieldList Fields();

  Status Validate() const;
  /// Whether a schedule counts the steps of the consumer.
  bool by_steps() const { return schedule.has_value() && schedule_unit == ScheduleUnit::kSteps; }
};

/// What a mix is told by what it stands in.
struct MixWiring {
  /// Where the schedule reads its step. A stage sets it by its Demand, for steps.
  StepClock clock;
  /// Adds a column `__source__` (utf8) with each example's source.
  bool add_source = true;
  /// The column whose lengths count as tokens.
  std::string token_column = "input_ids";
  /// Is told once what is worth a warning of the sources' tokens; may be null.
  NoticeFunction notice = {};
};

/// All that the module itself looks at.
struct MixSettings : MixOptions, MixWiring {
  Status Validate() const;
  /// The options of the mix in a plan.
  nlohmann::json Description() const;
  /// Undoes Description().
  static Result<MixSettings> FromDescription(const nlohmann::json& keys);
  /// Whether the stream depends on how many tokens examples have.
  bool counts_tokens() const { return unit == MixUnit::kTokens || clock.row_tokens > 0; }
};

/// The sources of a mix's examples, block by block, with the weights that hold at each block's
/// start: order() where weights are shares of examples, shares() where they are shares of tokens.
/// Grain's order comes by blocks, too, so that positions have one form.
class MixOrder {
 public:
  static constexpr std::atomic<bool> kNever{false};

  static Result<MixOrder> Make(const MixSettings& options);

  /// Begins at block `block` and example `example` instead of at 0, after a mix with other options.
  /// Before the first block.
  void Begin(int64_t block, int64_t example);

  /// Starts block number block(); `tokens` were given out in the blocks before.
  void StartBlock(int64_t tokens);
  void EndBlock();

  /// Goes to example `n` and starts its block; do not call StartBlock() then. Returns by source the
  /// examples before it.
  ///
  /// O(sources) in Grain's order and where all shares of a block are whole, and at most three times
  /// their common denominator blocks where that is 4,096 or less; else in the number of blocks, at
  /// some 10 ns a source and block (nothing is ordered on the way). A schedule goes block by block
  /// up to its last point. A later Seek() goes on forwards from there. Invalid where tokens decide:
  /// then only the examples themselves tell. Cancelled soon after `cancelled` is set.
  Result<std::vector<int64_t>> Seek(int64_t n, const std::atomic<bool>& cancelled = kNever);

  int64_t block() const { return mixer_.block(); }
  int64_t block_size() const { return mixer_.block_size(); }
  const std::vector<int32_t>& order() const { return grain_ ? grain_order_ : mixer_.order(); }
  TokenShares& shares() { return shares_; }
  /// Examples before the block.
  int64_t examples_at_start() const { return examples_at_start_; }

  /// Writes the position in the block that was started, or at the start of the next one.
  void Save(nlohmann::json* cursor) const;
  /// Goes to a saved position; `started` says that it is within a block.
  Status Restore(const nlohmann::json& cursor, bool started);

  /// Whether a source can be picked at all.
  bool Wanted(int source) const;

 private:
  MixOrder(MixSettings options, BlockMixer mixer, std::optional<GrainMix> grain);

  void OrderAsGrain();
  int64_t StepAt(int64_t blocks_ahead) const;
  std::vector<double> Weights() const;
  BlockMixer::WeightsAhead Ahead() const;

  MixSettings options_;
  std::vector<double> weights_;  // without a schedule
  BlockMixer mixer_;
  TokenShares shares_;
  std::optional<GrainMix> grain_;  // in Grain's order
  std::vector<int32_t> grain_order_;
  int64_t first_block_ = 0;
  int64_t first_example_ = 0;
  int64_t examples_at_start_ = 0;
  // Tokens that were given out before the block started: its weights were read at these.
  int64_t tokens_at_start_ = 0;
  // Of Seek(): by source, the examples of the blocks before; none where they are not known.
  std::vector<int64_t> given_;
};

}  // namespace easydata::mix
