#include "easydata/mix/token_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "easydata/mix/floor_divide.h"

namespace easydata::mix {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

}  // namespace

TokenShares::TokenShares(int num_sources)
    : weights_(num_sources, 0),
      given_(num_sources, 0),
      owed_(num_sources, 0),
      length_(num_sources, -1),
      start_(num_sources, 0),
      due_(num_sources) {}

bool TokenShares::StartsLater(int a, int b) const {
  return start_[a] != start_[b] ? start_[a] > start_[b] : a > b;
}

bool TokenShares::DueLater(int a, int b) const {
  if (due_[a].whole != due_[b].whole) return due_[a].whole > due_[b].whole;
  const Uint128 left = Uint128{due_[a].rest} * static_cast<uint64_t>(weights_[b]);
  const Uint128 right = Uint128{due_[b].rest} * static_cast<uint64_t>(weights_[a]);
  return left != right ? left > right : a > b;
}

void TokenShares::SetWeights(const std::vector<double>& weights) {
  double sum = 0;
  for (double weight : weights) sum += weight;
  std::vector<int64_t> parts(weights.size());
  int64_t left = kOne;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (weights[i] <= 0) continue;
    const double part = std::round(weights[i] / sum * static_cast<double>(kOne));
    parts[i] = std::max<int64_t>(1, static_cast<int64_t>(part));
    left -= parts[i];
  }
  *std::max_element(parts.begin(), parts.end()) += left;
  if (parts == weights_) return;
  Settle();
  weights_ = std::move(parts);
  SortIn();
}

void TokenShares::Settle() {
  for (size_t i = 0; i < weights_.size(); ++i) {
    owed_[i] += Int128{weights_[i]} * total_ - Int128{kOne} * given_[i];
    given_[i] = 0;
  }
  total_ = 0;
  SortIn();
}

void TokenShares::SortIn() {
  waiting_.clear();
  unknown_.clear();
  ready_.clear();
  Int128 owed = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] == 0) continue;
    owed += owed_[i];
    Wait(static_cast<int>(i));
  }
  // The debts of those with a weight may not add up to 0, where others lost theirs. Time goes by
  // what these were given, so that one of them always may give its next document.
  offset_ = static_cast<int64_t>(FloorDivide<Int128>(owed, kOne));
}

void TokenShares::Wait(int source) {
  const Int128 had = Int128{kOne} * given_[source] - owed_[source];
  const Int128 start = -FloorDivide<Int128>(-had, weights_[source]);
  start_[source] =
      static_cast<int64_t>(std::min<Int128>(start, std::numeric_limits<int64_t>::max()));
  waiting_.push_back(source);
  std::push_heap(waiting_.begin(), waiting_.end(),
                 [this](int a, int b) { return StartsLater(a, b); });
}

int TokenShares::Unknown() {
  while (!waiting_.empty() && start_[waiting_.front()] <= total_ - offset_) {
    std::pop_heap(waiting_.begin(), waiting_.end(),
                  [this](int a, int b) { return StartsLater(a, b); });
    const int source = waiting_.back();
    waiting_.pop_back();
    unknown_.push_back(source);
    if (length_[source] >= 0) SetLength(source, length_[source]);
  }
  return unknown_.empty() ? -1 : unknown_.back();
}

void TokenShares::SetLength(int source, int64_t tokens) {
  length_[source] = tokens;
  unknown_.erase(std::find(unknown_.begin(), unknown_.end(), source));
  const Int128 had = Int128{kOne} * (Int128{given_[source]} + tokens) - owed_[source];
  due_[source].whole = FloorDivide<Int128>(had, weights_[source]);
  due_[source].rest = static_cast<uint64_t>(had - due_[source].whole * weights_[source]);
  ready_.push_back(source);
  std::push_heap(ready_.begin(), ready_.end(), [this](int a, int b) { return DueLater(a, b); });
}

void TokenShares::ForgetLength() {
  std::pop_heap(ready_.begin(), ready_.end(), [this](int a, int b) { return DueLater(a, b); });
  unknown_.push_back(ready_.back());
  length_[ready_.back()] = -1;
  ready_.pop_back();
}

void TokenShares::Take() {
  std::pop_heap(ready_.begin(), ready_.end(), [this](int a, int b) { return DueLater(a, b); });
  const int source = ready_.back();
  ready_.pop_back();
  given_[source] += length_[source];
  total_ += length_[source];
  length_[source] = -1;
  Wait(source);
}

std::pair<int64_t, int64_t> TokenShares::owed(int source) const {
  const Int128 whole = FloorDivide<Int128>(owed_[source], kOne);
  return {static_cast<int64_t>(whole), static_cast<int64_t>(owed_[source] - whole * kOne)};
}

Status TokenShares::Restore(std::vector<int64_t> given,
                            const std::vector<std::pair<int64_t, int64_t>>& owed) {
  if (given.size() != given_.size() || owed.size() != owed_.size()) {
    return Status::Invalid("the saved position of the mix has ", given.size(),
                           " sources; there are ", given_.size());
  }
  Int128 sum = 0;
  for (size_t i = 0; i < owed.size(); ++i) {
    owed_[i] = Int128{kOne} * owed[i].first + owed[i].second;
    sum += owed_[i];
  }
  if (sum != 0) {
    return Status::Invalid("the saved position of the mix is damaged: its debts do not add up");
  }
  given_ = std::move(given);
  total_ = std::accumulate(given_.begin(), given_.end(), int64_t{0});
  std::fill(length_.begin(), length_.end(), -1);
  SortIn();
  return Status::OK();
}

}  // namespace easydata::mix
