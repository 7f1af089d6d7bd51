#include "easydata/mix/block_mixer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "easydata/base/random.h"
#include "easydata/mix/floor_divide.h"
#include "easydata/mix/weight_schedule.h"

namespace easydata::mix {
namespace {

// A share this close to a whole number of examples is one: 0.29 * 100 is 29, whatever doubles say.
constexpr double kWhole = 1e-9;
// Blocks of look-ahead for an example's due date; beyond, the last weights are assumed to stay.
constexpr size_t kMaxBlocksAhead = 64;

}  // namespace

Result<BlockMixer> BlockMixer::Make(int num_sources, int64_t block_size, uint64_t seed) {
  if (num_sources < 1) return Status::Invalid("a mix needs at least one source");
  if (block_size < 1 || block_size > kMaxBlockSize) {
    return Status::Invalid("block_size must be between 1 and ", kMaxBlockSize, "; it is ",
                           block_size);
  }
  BlockMixer mixer;
  mixer.block_size_ = block_size;
  mixer.seed_ = seed;
  mixer.carry_.assign(num_sources, 0);
  return mixer;
}

Status BlockMixer::Restore(int64_t block, std::vector<int64_t> carry) {
  if (carry.size() != carry_.size() || block < 0) {
    return Status::Invalid("the saved position of the mix has ", carry.size(),
                           " sources; there are ", carry_.size());
  }
  if (std::accumulate(carry.begin(), carry.end(), int64_t{0}) != 0) {
    return Status::Invalid("the saved position of the mix is damaged: its carry does not add up");
  }
  block_ = block;
  carry_ = std::move(carry);
  return Status::OK();
}

void BlockMixer::Begin(int64_t block) {
  block_ = block;
  carry_.assign(carry_.size(), 0);
}

void BlockMixer::SetShares(const std::vector<double>& weights) {
  if (weights == weights_) return;
  weights_ = weights;
  double sum = 0;
  for (double weight : weights) sum += weight;
  const double size = static_cast<double>(block_size_);
  shares_.assign(weights.size(), 0);
  int64_t left = block_size_ * unit_;
  for (size_t i = 0; i < shares_.size(); ++i) {
    const double share = weights[i] / sum * size;
    const double whole = std::round(share);
    shares_[i] = std::abs(share - whole) <= kWhole
                     ? static_cast<int64_t>(whole) * unit_
                     : std::llround(share * static_cast<double>(unit_));
    left -= shares_[i];
  }
  // The shares add up exactly. What is lacking is less than a billionth of an example a source.
  if (left != 0) {
    const auto cut = std::max_element(shares_.begin(), shares_.end(), [this](int64_t a, int64_t b) {
      return std::make_pair(a % unit_ != 0, a) < std::make_pair(b % unit_ != 0, b);
    });
    *cut += left;
  }
}

bool BlockMixer::SetFractions(const std::vector<double>& weights) {
  double sum = 0;
  for (double weight : weights) sum += weight;
  for (int64_t unit = 1; unit <= kMaxPeriod; ++unit) {
    const double size = static_cast<double>(block_size_ * unit);
    int64_t left = block_size_ * unit;
    shares_.clear();
    for (double weight : weights) {
      const double share = weight / sum * size;
      const double whole = std::round(share);
      if (std::abs(share - whole) > kWhole) break;
      shares_.push_back(static_cast<int64_t>(whole));
      left -= shares_.back();
    }
    if (shares_.size() != weights.size() || left != 0) continue;
    unit_ = unit;
    weights_ = weights;
    return true;
  }
  return false;
}

void BlockMixer::FixWeights(const std::vector<double>& weights) {
  if (!SetFractions(weights)) SetShares(weights);
}

double BlockMixer::Due(int source, int64_t missing,
                       const std::vector<std::vector<double>>& ahead) const {
  double left = static_cast<double>(missing);
  double share = static_cast<double>(shares_[source]);
  for (size_t k = 0; k < ahead.size(); ++k) {
    share = ahead[k][source] * static_cast<double>(block_size_ * unit_);
    if (left <= share) return static_cast<double>(k) + left / share;
    left -= share;
  }
  if (share <= 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(ahead.size()) + left / share;
}

void BlockMixer::GiveRemainder(int64_t remainder, const std::vector<double>& weights,
                               const WeightsAhead& weights_ahead) {
  size_t largest = counts_.size();
  if (block_ == 0 && remainder > 0) {
    largest = std::max_element(weights.begin(), weights.end()) - weights.begin();
    ++counts_[largest];
    --remainder;
  }
  if (remainder == 0) return;
  std::vector<std::vector<double>> ahead;
  while (weights_ahead != nullptr && ahead.size() < kMaxBlocksAhead) {
    auto weights_then = weights_ahead(static_cast<int64_t>(ahead.size()) + 1);
    if (!weights_then.has_value()) break;
    ahead.push_back(Normalized(std::move(*weights_then)));
  }
  candidates_.clear();
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t owed = carry_[i] + shares_[i] - counts_[i] * unit_;
    if (i == largest || owed <= 0) continue;
    candidates_.push_back({Due(static_cast<int>(i), unit_ - owed, ahead), static_cast<int>(i)});
  }
  const auto last =
      candidates_.begin() + std::min(remainder, static_cast<int64_t>(candidates_.size()));
  std::nth_element(candidates_.begin(), last, candidates_.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.due != b.due ? a.due < b.due : a.source < b.source;
                   });
  for (auto one = candidates_.begin(); one != last; ++one) ++counts_[one->source];
}

void BlockMixer::StartBlock(const std::vector<double>& weights, const WeightsAhead& ahead) {
  CountBlock(weights, ahead);
  order_.clear();
  order_.reserve(block_size_);
  for (size_t i = 0; i < counts_.size(); ++i) {
    order_.insert(order_.end(), counts_[i], static_cast<int32_t>(i));
  }
  Pcg64({seed_ + static_cast<uint64_t>(block_)}).ShuffleList(&order_);
}

void BlockMixer::CountBlock(const std::vector<double>& weights, const WeightsAhead& ahead) {
  SetShares(weights);
  counts_.assign(weights.size(), 0);
  int64_t total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    counts_[i] = std::max<int64_t>(0, FloorDivide(carry_[i] + shares_[i], unit_));
    total += counts_[i];
  }
  // Weights that fall faster than an example can be taken back leave too many: those least owed
  // wait.
  while (total > block_size_) {
    size_t least = counts_.size();
    int64_t least_owed = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < counts_.size(); ++i) {
      const int64_t owed = carry_[i] + shares_[i] - counts_[i] * unit_;
      if (counts_[i] > 0 && owed < least_owed) {
        least = i;
        least_owed = owed;
      }
    }
    --counts_[least];
    --total;
  }
  GiveRemainder(block_size_ - total, weights, ahead);
}

void BlockMixer::EndBlock() {
  for (size_t i = 0; i < carry_.size(); ++i) carry_[i] += shares_[i] - counts_[i] * unit_;
  ++block_;
}

void BlockMixer::Step(const std::vector<double>& weights, std::vector<int64_t>* given) {
  CountBlock(weights);
  for (size_t i = 0; i < counts_.size(); ++i) (*given)[i] += counts_[i];
  EndBlock();
}

void BlockMixer::FindPeriod(int64_t last, const std::vector<double>& weights,
                            std::vector<int64_t>* given) {
  // The first block has a rule of its own, which the next unit_ blocks may have to make good.
  if (block_ == 0 && block_ < last) Step(weights, given);
  for (int attempt = 0; attempt < 2 && block_ + unit_ <= last; ++attempt) {
    Period found{unit_, carry_, *given};
    for (int64_t k = 0; k < unit_; ++k) Step(weights, given);
    if (carry_ != found.carry) continue;
    for (size_t i = 0; i < given->size(); ++i) found.counts[i] = (*given)[i] - found.counts[i];
    period_ = std::move(found);
    return;
  }
}

void BlockMixer::SkipTo(int64_t block, const std::vector<double>& weights,
                        std::vector<int64_t>* given) {
  if (block <= block_) return;
  const auto add = [&](const std::vector<int64_t>& counts, int64_t times) {
    for (size_t i = 0; i < counts.size(); ++i) (*given)[i] += counts[i] * times;
  };
  CountBlock(weights);
  bool steady = true;  // the carry stays what it is, and so do the counts
  for (size_t i = 0; i < counts_.size(); ++i) steady = steady && counts_[i] * unit_ == shares_[i];
  if (steady) {
    add(counts_, block - block_);
    block_ = block;
    return;
  }
  if (unit_ <= kMaxPeriod && period_.blocks == 0) FindPeriod(block, weights, given);
  while (block_ < block) {
    if (period_.blocks > 0 && carry_ == period_.carry) {
      const int64_t times = (block - block_) / period_.blocks;
      add(period_.counts, times);
      block_ += times * period_.blocks;
      if (block_ == block) return;
    }
    Step(weights, given);
  }
}

}  // namespace easydata::mix
