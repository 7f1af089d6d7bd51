#include "easydata/mix/block_mixer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "easydata/base/random.h"
#include "easydata/mix/weight_schedule.h"

namespace easydata {
namespace {

// A share this close to a whole number of examples is one: 0.29 * 100 is 29, whatever doubles say.
constexpr double kWhole = 1e-9;
// Blocks that are looked ahead for an example's due date; beyond, the last weights are taken to
// stay.
constexpr size_t kMaxBlocksAhead = 64;

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

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

std::vector<int64_t> BlockMixer::Shares(const std::vector<double>& weights) const {
  double sum = 0;
  for (double weight : weights) sum += weight;
  const double size = static_cast<double>(block_size_);
  std::vector<int64_t> shares(weights.size());
  int64_t left = block_size_ * kOne;
  for (size_t i = 0; i < shares.size(); ++i) {
    const double share = weights[i] / sum * size;
    const double whole = std::round(share);
    shares[i] = std::abs(share - whole) <= kWhole ? static_cast<int64_t>(whole) * kOne
                                                  : std::llround(share * static_cast<double>(kOne));
    left -= shares[i];
  }
  // The shares add up exactly. What is lacking is less than a billionth of an example a source.
  if (left != 0) {
    const auto cut = std::max_element(shares.begin(), shares.end(), [](int64_t a, int64_t b) {
      return std::make_pair(a % kOne != 0, a) < std::make_pair(b % kOne != 0, b);
    });
    *cut += left;
  }
  return shares;
}

double BlockMixer::Due(int source, int64_t missing,
                       const std::vector<std::vector<double>>& ahead) const {
  double left = static_cast<double>(missing);
  double share = static_cast<double>(shares_[source]);
  for (size_t k = 0; k < ahead.size(); ++k) {
    share = ahead[k][source] * static_cast<double>(block_size_ * kOne);
    if (left <= share) return static_cast<double>(k) + left / share;
    left -= share;
  }
  if (share <= 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(ahead.size()) + left / share;
}

void BlockMixer::GiveRemainder(int64_t remainder, const std::vector<double>& weights,
                               const WeightsAhead& weights_ahead) {
  std::vector<bool> given(counts_.size(), false);
  if (block_ == 0 && remainder > 0) {
    const size_t largest = std::max_element(weights.begin(), weights.end()) - weights.begin();
    ++counts_[largest];
    given[largest] = true;
    --remainder;
  }
  if (remainder == 0) return;
  std::vector<std::vector<double>> ahead;
  while (weights_ahead != nullptr && ahead.size() < kMaxBlocksAhead) {
    auto weights_then = weights_ahead(static_cast<int64_t>(ahead.size()) + 1);
    if (!weights_then.has_value()) break;
    ahead.push_back(Normalized(std::move(*weights_then)));
  }
  struct Candidate {
    double due;
    int source;
  };
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t owed = carry_[i] + shares_[i] - counts_[i] * kOne;
    if (given[i] || owed <= 0) continue;
    candidates.push_back({Due(static_cast<int>(i), kOne - owed, ahead), static_cast<int>(i)});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.due < b.due; });
  for (const Candidate& candidate : candidates) {
    if (remainder-- == 0) break;
    ++counts_[candidate.source];
  }
}

void BlockMixer::StartBlock(const std::vector<double>& weights, const WeightsAhead& ahead) {
  shares_ = Shares(weights);
  counts_.assign(weights.size(), 0);
  int64_t total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    counts_[i] = std::max<int64_t>(0, FloorDivide(carry_[i] + shares_[i], kOne));
    total += counts_[i];
  }
  // Weights that fall faster than an example can be taken back leave too many: those least owed
  // wait.
  while (total > block_size_) {
    size_t least = counts_.size();
    int64_t least_owed = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < counts_.size(); ++i) {
      const int64_t owed = carry_[i] + shares_[i] - counts_[i] * kOne;
      if (counts_[i] > 0 && owed < least_owed) {
        least = i;
        least_owed = owed;
      }
    }
    --counts_[least];
    --total;
  }
  GiveRemainder(block_size_ - total, weights, ahead);
  order_.clear();
  order_.reserve(block_size_);
  for (size_t i = 0; i < counts_.size(); ++i) {
    order_.insert(order_.end(), counts_[i], static_cast<int32_t>(i));
  }
  Pcg64({seed_ + static_cast<uint64_t>(block_)}).ShuffleList(&order_);
}

void BlockMixer::EndBlock() {
  for (size_t i = 0; i < carry_.size(); ++i) carry_[i] += shares_[i] - counts_[i] * kOne;
  ++block_;
}

}  // namespace easydata
