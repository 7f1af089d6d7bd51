#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::mix {

/// Chooses the source of each example of a mix, block by block: a pure function of the seed and of
/// the weights of the blocks.
///
/// Within a block each source has a whole number of examples, and NumPy's
/// `default_rng(seed + block).shuffle` orders them: EasyDeL's sequence wherever weight * block size
/// is whole. Where it is not, what the rounding left over is carried into the next block (EasyDeL
/// forgets it), so that at every block's end each source is within one example of its share. A
/// source gets the example that is left over in the order in which it falls due: earliest deadline
/// first, which for unit jobs never misses a deadline that can be kept (Horn 1974); with a due date
/// per example this is the fair schedule of Baruah et al. 1996 ("Proportionate progress"). In block
/// 0 the first one goes to the largest source, as in EasyDeL.
class BlockMixer {
 public:
  static constexpr int64_t kMaxBlockSize = int64_t{1} << 24;
  /// Shares with a common denominator up to this are kept as such fractions, so that the carry is
  /// periodic.
  static constexpr int64_t kMaxPeriod = 4096;

  static Result<BlockMixer> Make(int num_sources, int64_t block_size, uint64_t seed);

  /// Sets the weights (of a positive sum) of all blocks. Before the first block.
  void FixWeights(const std::vector<double>& weights);

  /// Weights (of any positive sum) of the block `ahead` blocks after the one that starts, or
  /// nothing where they are not known: then the last known ones are assumed to stay. Not needed
  /// where weights never change.
  using WeightsAhead = std::function<std::optional<std::vector<double>>(int64_t ahead)>;

  /// Sets the counts and the order of block number block(), with `weights` of a positive sum.
  void StartBlock(const std::vector<double>& weights, const WeightsAhead& ahead = nullptr);
  /// Sets the counts only; there is no order().
  void CountBlock(const std::vector<double>& weights, const WeightsAhead& ahead = nullptr);
  /// Takes the block's rounding into the carry and moves on to the next block.
  void EndBlock();

  /// Goes to the start of `block` with the carry that was there.
  Status Restore(int64_t block, std::vector<int64_t> carry);
  /// Goes to the start of `block` with nothing carried.
  void Begin(int64_t block);

  /// Moves on to the start of block `block`, all blocks between having `weights`, and adds by
  /// source to `given` what they hold. In O(sources) where all shares are whole; where shares have
  /// been kept as fractions (FixWeights), in no more than three times their denominator blocks;
  /// else block by block, but without ordering them.
  void SkipTo(int64_t block, const std::vector<double>& weights, std::vector<int64_t>* given);

  int64_t block() const { return block_; }
  int64_t block_size() const { return block_size_; }
  /// By source, what it was owed when the block started, in parts of unit(); the sum is 0.
  const std::vector<int64_t>& carry() const { return carry_; }
  /// One example in the unit of carries.
  int64_t unit() const { return unit_; }
  /// By source, its examples in the block.
  const std::vector<int64_t>& counts() const { return counts_; }
  /// The block's examples: the index of each one's source.
  const std::vector<int32_t>& order() const { return order_; }

 private:
  /// What a period of blocks holds, once the weights stayed long enough for the carry to repeat.
  struct Period {
    int64_t blocks = 0;  // 0: not known to
    std::vector<int64_t> carry;
    std::vector<int64_t> counts;
  };

  void SetShares(const std::vector<double>& weights);
  bool SetFractions(const std::vector<double>& weights);
  void FindPeriod(int64_t last, const std::vector<double>& weights, std::vector<int64_t>* given);
  void Step(const std::vector<double>& weights, std::vector<int64_t>* given);
  double Due(int source, int64_t missing, const std::vector<std::vector<double>>& ahead) const;
  void GiveRemainder(int64_t remainder, const std::vector<double>& weights,
                     const WeightsAhead& weights_ahead);

  struct Candidate {
    double due;
    int source;
  };

  int64_t block_size_ = 0;
  uint64_t seed_ = 0;
  int64_t block_ = 0;
  int64_t unit_ = int64_t{1} << 32;
  std::vector<int64_t> carry_;
  std::vector<double> weights_;  // that shares_ are of
  std::vector<int64_t> shares_;  // of the block, carry left out
  std::vector<int64_t> counts_;
  std::vector<int32_t> order_;
  std::vector<Candidate> candidates_;
  Period period_;
};

}  // namespace easydata::mix
