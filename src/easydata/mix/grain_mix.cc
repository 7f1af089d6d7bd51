#include "easydata/mix/grain_mix.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace easydata::mix {
namespace {

__extension__ using Uint128 = unsigned __int128;

uint64_t MultiplyDivide(uint64_t a, uint64_t b, uint64_t c) {
  return static_cast<uint64_t>(Uint128{a} * b / c);
}

}  // namespace

GrainMix::GrainMix(std::vector<uint64_t> shares)
    : shares_(std::move(shares)),
      total_(std::accumulate(shares_.begin(), shares_.end(), uint64_t{0})) {}

Result<GrainMix> GrainMix::Make(std::span<const double> weights) {
  if (weights.empty()) return Status::Invalid("a mix needs at least one weight");
  constexpr double kLeastShare = 100;
  constexpr double kMostShares = 1e18;
  for (const double weight : weights) {
    if (!(weight > 0) || !std::isfinite(weight)) {
      return Status::Invalid("weights of a mix must be above 0; got ", weight,
                             "; leave the dataset out instead");
    }
  }
  const double least = *std::min_element(weights.begin(), weights.end());
  const double scale = kLeastShare / least;
  double total = 0;
  std::vector<uint64_t> shares;
  for (const double weight : weights) {
    const double share = weight * scale;
    total += share;
    if (total > kMostShares) {
      return Status::Invalid("weights of a mix may be at most 10^16 times the least of them; got ",
                             weight, " and ", least);
    }
    shares.push_back(static_cast<uint64_t>(share));
  }
  return GrainMix(std::move(shares));
}

GrainMix::SourceRow GrainMix::At(uint64_t row) const {
  // Rows before this one, and with it, that are left to the data sets from `source` on.
  uint64_t before = row;
  uint64_t with = row + 1;
  uint64_t left = total_;
  for (size_t source = 0; source + 1 < shares_.size(); ++source) {
    const uint64_t rest = left - shares_[source];
    const uint64_t before_rest = MultiplyDivide(before, rest, left);
    const uint64_t with_rest = MultiplyDivide(with, rest, left);
    if (before - before_rest != with - with_rest) return {source, before - before_rest};
    before = before_rest;
    with = with_rest;
    left = rest;
  }
  return {shares_.size() - 1, before};
}

std::vector<int64_t> GrainMix::Given(uint64_t rows) const {
  std::vector<int64_t> given;
  uint64_t left = total_;
  for (const uint64_t share : shares_) {
    const uint64_t rows_of_rest = MultiplyDivide(rows, left - share, left);
    given.push_back(static_cast<int64_t>(rows - rows_of_rest));
    rows = rows_of_rest;
    left -= share;
  }
  return given;
}

uint64_t GrainMix::Length(std::span<const uint64_t> lengths) const {
  double length = HUGE_VAL;
  for (size_t i = 0; i < shares_.size(); ++i) {
    const double share = static_cast<double>(shares_[i]) / static_cast<double>(total_);
    length = std::min(length, static_cast<double>(lengths[i]) / share);
  }
  return static_cast<uint64_t>(length);
}

}  // namespace easydata::mix
