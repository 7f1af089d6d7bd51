#include "easydata/mix/token_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>

namespace easydata::mix {
namespace {

__extension__ using Int128 = __int128;

/// The reference implementation: compares fractions by cross-multiplication and looks at every
/// source for every document.
class LiteralShares {
 public:
  explicit LiteralShares(std::vector<double> weights) : given_(weights.size(), 0) {
    double sum = 0;
    for (double weight : weights) sum += weight;
    int64_t left = TokenShares::kOne;
    for (double weight : weights) {
      const int64_t part = std::llround(weight / sum * TokenShares::kOne);
      parts_.push_back(weight > 0 ? std::max<int64_t>(part, 1) : 0);
      left -= parts_.back();
    }
    *std::max_element(parts_.begin(), parts_.end()) += left;
  }

  int Next(const std::function<int64_t(int)>& length) const {
    int best = -1;
    for (int i = 0; i < static_cast<int>(parts_.size()); ++i) {
      if (parts_[i] == 0 || Int128{TokenShares::kOne} * given_[i] > Int128{parts_[i]} * total_) {
        continue;
      }
      if (best < 0 || Int128{given_[i] + length(i)} * parts_[best] <
                          Int128{given_[best] + length(best)} * parts_[i]) {
        best = i;
      }
    }
    return best;
  }

  void Take(int source, int64_t tokens) {
    given_[source] += tokens;
    total_ += tokens;
  }

  const std::vector<int64_t>& given() const { return given_; }
  int64_t total() const { return total_; }
  double share(int source) const {
    return static_cast<double>(parts_[source]) / static_cast<double>(TokenShares::kOne);
  }

 private:
  std::vector<int64_t> parts_;
  std::vector<int64_t> given_;
  int64_t total_ = 0;
};

int64_t LengthOf(uint64_t seed, int source, int64_t document, int kind) {
  uint64_t state = seed * 1'000'003 + static_cast<uint64_t>(source) * 7919 + document;
  const auto random = [&state] {  // splitmix64
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  switch (kind) {
    case 0:
      return static_cast<int64_t>(random() % 10);  // a tenth of them of no tokens
    case 1:
      return 1 + static_cast<int64_t>(random() % 2048);
    case 2:  // few and huge, many and small
      return random() % 20 == 0 ? static_cast<int64_t>(random() % 1'000'000)
                                : static_cast<int64_t>(random() % 3);
    default:
      return source % 2 == 0 ? 1000 : 1;
  }
}

std::vector<double> RandomWeights(std::mt19937_64* random, int n) {
  std::vector<double> weights(n);
  for (double& weight : weights) {
    weight = (*random)() % 6 == 0 ? 0
                                  : std::pow(10.0, -static_cast<double>((*random)() % 4)) *
                                        (1 + static_cast<double>((*random)() % 9));
  }
  weights[(*random)() % n] = 1;
  return weights;
}

/// The next document's source; sets every length that is asked for.
int Pick(TokenShares* shares, const std::function<int64_t(int)>& length) {
  for (int i = shares->Unknown(); i >= 0; i = shares->Unknown()) shares->SetLength(i, length(i));
  return shares->Next();
}

TEST(TokenSharesTest, EqualsTheLiteralRuleAndStaysWithinOneDocumentAtEveryPrefix) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const int n = trial % 20 == 0 ? 100 : 1 + static_cast<int>(random() % 12);
    const int kind = trial % 4;
    const auto weights = RandomWeights(&random, n);
    TokenShares shares(n);
    shares.SetWeights(weights);
    LiteralShares literal(weights);
    std::vector<int64_t> document(n, 0);
    std::vector<int64_t> longest(n, 0);
    int64_t longest_of_all = 0;
    const auto length = [&](int i) { return LengthOf(trial, i, document[i], kind); };
    for (int k = 0; k < 3000; ++k) {
      const int picked = Pick(&shares, length);
      ASSERT_EQ(picked, literal.Next(length)) << "trial " << trial << ", document " << k;
      const int64_t tokens = length(picked);
      shares.Take();
      literal.Take(picked, tokens);
      ++document[picked];
      longest[picked] = std::max(longest[picked], tokens);
      for (int i = 0; i < n; ++i) longest_of_all = std::max(longest_of_all, length(i));
      longest_of_all = std::max(longest_of_all, tokens);
      for (int i = 0; i < n; ++i) {
        const double owed = literal.share(i) * static_cast<double>(literal.total()) -
                            static_cast<double>(literal.given()[i]);
        ASSERT_LE(owed, static_cast<double>(longest_of_all) + 1e-3) << trial << " " << k;
        ASSERT_GE(owed, -(1 - literal.share(i)) * static_cast<double>(longest[i]) - 1e-3)
            << trial << " " << k;
      }
    }
  }
}

TEST(TokenSharesTest, RestoredAnywhereTheRestIsTheSame) {
  std::mt19937_64 random(5);
  const int n = 9;
  TokenShares whole(n);
  std::vector<double> weights = RandomWeights(&random, n);
  whole.SetWeights(weights);
  std::vector<int64_t> document(n, 0);
  const auto length = [&](int i) { return LengthOf(1, i, document[i], i % 3); };
  for (int k = 0; k < 2000; ++k) {
    if (k % 100 == 99) {
      whole.Settle();
      weights = RandomWeights(&random, n);
      whole.SetWeights(weights);
    }
    TokenShares restored(n);
    restored.SetWeights(weights);
    std::vector<int64_t> given;
    std::vector<std::pair<int64_t, int64_t>> owed;
    for (int i = 0; i < n; ++i) {
      given.push_back(whole.given(i));
      owed.push_back(whole.owed(i));
    }
    ASSERT_TRUE(restored.Restore(given, owed).ok());
    const int picked = Pick(&whole, length);
    ASSERT_EQ(Pick(&restored, length), picked) << k;
    whole.Take();
    restored.Take();
    ++document[picked];
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(restored.given(i), whole.given(i));
      ASSERT_EQ(restored.owed(i), whole.owed(i));
    }
  }
  EXPECT_FALSE(TokenShares(2).Restore({1}, {{0, 0}}).ok());
  EXPECT_FALSE(TokenShares(2).Restore({1, 1}, {{0, 1}, {0, 0}}).ok());
}

TEST(TokenSharesTest, SettlingChangesNothing) {
  const std::vector<double> weights = {0.5, 0.3, 0.2};
  TokenShares plain(3), settled(3);
  plain.SetWeights(weights);
  settled.SetWeights(weights);
  std::vector<int64_t> document(3, 0);
  const auto length = [&](int i) { return LengthOf(2, i, document[i], 1); };
  for (int k = 0; k < 3000; ++k) {
    if (k % 7 == 0) settled.Settle();
    const int picked = Pick(&plain, length);
    ASSERT_EQ(Pick(&settled, length), picked) << k;
    plain.Take();
    settled.Take();
    ++document[picked];
  }
}

// Over any number of changes nothing is forgotten: sources stay near the sum of their shares.
TEST(TokenSharesTest, ChangesOfWeightsCarryOnWhatIsOwed) {
  std::mt19937_64 random(7);
  constexpr int64_t kLongest = 2048;
  double worst = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const int n = 2 + static_cast<int>(random() % 10);
    TokenShares shares(n);
    std::vector<double> due(n, 0);
    std::vector<int64_t> given(n, 0), document(n, 0);
    const auto length = [&](int i) { return LengthOf(trial, i, document[i], 1); };
    for (int change = 0; change < 300; ++change) {
      auto weights = RandomWeights(&random, n);
      double sum = 0;
      for (double weight : weights) sum += weight;
      shares.SetWeights(weights);
      for (int k = 0; k < 1 + static_cast<int>(random() % 30); ++k) {
        const int picked = Pick(&shares, length);
        ASSERT_GT(weights[picked], 0);
        const int64_t tokens = length(picked);
        shares.Take();
        ++document[picked];
        given[picked] += tokens;
        for (int i = 0; i < n; ++i) {
          due[i] += weights[i] / sum * static_cast<double>(tokens);
          worst = std::max(worst, std::abs(due[i] - static_cast<double>(given[i])));
        }
      }
    }
  }
  EXPECT_LE(worst, 2.0 * kLongest);
}

TEST(TokenSharesTest, SourcesWithoutWeightAreNeverPickedAndNoneStarves) {
  TokenShares shares(3);
  shares.SetWeights({1, 0, 1e-12});
  std::vector<int64_t> given(3, 0);
  for (int k = 0; k < 1000; ++k) {
    const int picked = Pick(&shares, [](int) { return 5; });
    shares.Take();
    given[picked] += 5;
  }
  EXPECT_EQ(given[1], 0);
  EXPECT_EQ(given[2], 5);  // its first document was due by 5 / 1e-12 tokens, but could come at once
}

TEST(TokenSharesTest, AThousandSourcesAreCheap) {
  constexpr int kSources = 1000;
  TokenShares shares(kSources);
  std::vector<double> weights(kSources);
  for (int i = 0; i < kSources; ++i) weights[i] = 1.0 / (1 + i);
  shares.SetWeights(weights);
  LiteralShares literal(weights);
  std::vector<int64_t> document(kSources, 0);
  const auto length = [&](int i) { return LengthOf(9, i, document[i], 1); };
  for (int k = 0; k < 5000; ++k) {
    const int picked = Pick(&shares, length);
    if (k % 50 == 0) {
      ASSERT_EQ(picked, literal.Next(length)) << k;
    }
    literal.Take(picked, length(picked));
    shares.Take();
    ++document[picked];
  }
}

// E8
TEST(TokenSharesTest, TinyWeightsHaveTheirShareAndNoMore) {
  for (const double weight : {1e-12, 1e-16, 1e-300}) {
    const std::vector<double> weights = {1, weight};
    TokenShares shares(2);
    shares.SetWeights(weights);
    LiteralShares literal(weights);
    // Documents so large that the share of the tiny one comes within a few hundred of them.
    const auto length = [](int source) { return source == 0 ? int64_t{1} << 40 : int64_t{1}; };
    for (int k = 0; k < 600; ++k) {
      for (int i = shares.Unknown(); i >= 0; i = shares.Unknown()) shares.SetLength(i, length(i));
      const int next = shares.Next();
      ASSERT_EQ(next, literal.Next(length)) << weight << " at " << k;
      literal.Take(next, length(next));
      shares.Take();
    }
    const double due = literal.share(1) * static_cast<double>(literal.total());
    EXPECT_GE(due, 1) << weight;
    EXPECT_LE(std::abs(static_cast<double>(shares.given(1)) - due), 1) << weight;
  }
}

// E8
TEST(TokenSharesTest, OfEqualsTheFirstIsTaken) {
  TokenShares shares(4);
  shares.SetWeights({1, 1, 0, 1});
  std::vector<int> order;
  for (int k = 0; k < 9; ++k) {
    for (int i = shares.Unknown(); i >= 0; i = shares.Unknown()) shares.SetLength(i, 5);
    order.push_back(shares.Next());
    shares.Take();
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 3, 0, 1, 3, 0, 1, 3}));
}

}  // namespace
}  // namespace easydata::mix
