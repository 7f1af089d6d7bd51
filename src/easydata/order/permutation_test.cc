#include "easydata/order/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "easydata/base/recorded_values.h"

namespace easydata::order {
namespace {

bool IsBijection(const Permutation& permutation) {
  std::vector<bool> seen(permutation.size());
  for (uint64_t i = 0; i < permutation.size(); ++i) {
    const uint64_t item = permutation[i];
    if (item >= permutation.size() || seen[item]) return false;
    seen[item] = true;
  }
  return true;
}

// The correlation of neighbours (or of items `lag` indices apart) among the first ones.
double Correlation(const Permutation& permutation, size_t lag) {
  constexpr size_t kIndices = 8192;
  std::vector<uint64_t> items(kIndices + lag);
  permutation.Fill(0, items);
  const double mean = static_cast<double>(permutation.size() - 1) / 2;
  double product = 0, square = 0;
  for (size_t i = 0; i < kIndices; ++i) {
    const double here = static_cast<double>(items[i]) - mean;
    product += here * (static_cast<double>(items[i + lag]) - mean);
    square += here * here;
  }
  return product / square;
}

// Of counts that should be equal: about 1 per degree of freedom for random ones.
double ChiSquared(const std::vector<int>& counts) {
  double total = 0;
  for (const int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum / static_cast<double>(counts.size() - 1);
}

TEST(PermutationTest, IsABijectionForEverySmallSize) {
  for (uint64_t size = 1; size <= 5000; ++size) {
    ASSERT_TRUE(IsBijection(Permutation(size, {size, 3}))) << size;
  }
}

TEST(PermutationTest, IsABijectionAroundPowersOfTwo) {
  for (int bits = 12; bits <= 20; ++bits) {
    for (const uint64_t size : {(1u << bits) - 1, 1u << bits, (1u << bits) + 1}) {
      ASSERT_TRUE(IsBijection(Permutation(size, {7, 0}))) << size;
    }
  }
}

TEST(PermutationTest, StaysInsideHugeSizes) {
  for (const uint64_t size : {(uint64_t{1} << 40) + 1, uint64_t{1} << 63, UINT64_MAX}) {
    const Permutation permutation(size, {1});
    std::set<uint64_t> items;
    for (uint64_t i = 0; i < 20'000; ++i) {
      items.insert(permutation[i]);
      items.insert(permutation[size - 1 - i]);
    }
    EXPECT_EQ(items.size(), 40'000u);
    EXPECT_LT(*items.rbegin(), size);
  }
}

TEST(PermutationTest, FillGivesConsecutiveIndices) {
  for (const uint64_t size : {uint64_t{9}, uint64_t{4097}, uint64_t{1'000'003}}) {
    const Permutation permutation(size, {2, 5});
    std::vector<uint64_t> items(std::min<uint64_t>(size - 3, 2000));
    permutation.Fill(3, items);
    for (size_t i = 0; i < items.size(); ++i) ASSERT_EQ(items[i], permutation[3 + i]);
  }
}

// Grain's function has a median of 0.40 at a million, where random orders have 0.007.
TEST(PermutationTest, NeighboursAreAsFarApartAsInRandomOrders) {
  for (const uint64_t size : {uint64_t{10'000}, uint64_t{65'537}, uint64_t{1'000'000},
                              uint64_t{250'000'000}, uint64_t{1} << 40}) {
    std::vector<double> neighbours;
    double worst = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const Permutation permutation(size, {seed, 0});
      neighbours.push_back(std::abs(Correlation(permutation, 1)));
      for (size_t lag = 1; lag <= 1024; lag *= 2) {
        worst = std::max(worst, std::abs(Correlation(permutation, lag)));
      }
    }
    std::nth_element(neighbours.begin(), neighbours.begin() + 30, neighbours.end());
    EXPECT_LT(neighbours[30], 0.012) << size;
    // The largest of 660 normal values is at about 3.3 of their deviations, 1 / sqrt(8192).
    EXPECT_LT(worst, 0.05) << size;
  }
}

TEST(PermutationTest, BucketsFillAsInRandomOrders) {
  constexpr uint64_t kBuckets = 16, kSeeds = 200;
  for (const uint64_t size :
       {uint64_t{5'000}, uint64_t{65'536}, uint64_t{1'000'000}, uint64_t{1} << 40}) {
    double mean = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Permutation permutation(size, {seed, 1});
      std::vector<int> counts(kBuckets);
      for (uint64_t i = 0; i < 1024; ++i) {
        const double share = static_cast<double>(permutation[i]) / static_cast<double>(size);
        ++counts[static_cast<size_t>(share * kBuckets)];
      }
      mean += ChiSquared(counts) / kSeeds;
    }
    // Items are drawn without replacement: fewer than 1 where 1,024 are a good part of them.
    const double expected = 1 - 1024 / static_cast<double>(size);
    EXPECT_NEAR(mean, expected, 0.12) << size;
  }
}

// Over seeds, the first index holds each item equally often, and so does a pair of indices.
TEST(PermutationTest, SeedsGiveAllOrders) {
  constexpr uint64_t kSeeds = 20'000;
  for (const uint64_t size : {uint64_t{3}, uint64_t{5}, uint64_t{4'100}, uint64_t{1'000'000}}) {
    const uint64_t kinds = std::min<uint64_t>(size, 16);
    std::vector<int> first(kinds), pairs(kinds * kinds);
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Permutation permutation(size, {seed, 9});
      const uint64_t a = permutation[0] * kinds / size, b = permutation[1] * kinds / size;
      ++first[a];
      ++pairs[a * kinds + b];
    }
    EXPECT_LT(ChiSquared(first), 2.5) << size;
    if (size > kinds) {
      EXPECT_NEAR(ChiSquared(pairs), 1, 0.35) << size;
    }
  }
}

// What seeds mean does not change from release to release.
TEST(PermutationTest, SeedsMeanWhatTheyMeant) {
  const auto head = [](uint64_t size, std::initializer_list<uint64_t> entropy) {
    std::vector<uint64_t> items(5);
    Permutation(size, entropy).Fill(0, items);
    return items;
  };
  EXPECT_EQ(head(10, {42, 0}), (std::vector<uint64_t>{5, 6, 0, 7, 3}));
  EXPECT_EQ(head(1'000'000, {42, 0}),
            (std::vector<uint64_t>{440365, 223764, 619272, 514281, 842058}));
  EXPECT_EQ(head(1'000'000, {42, 1}),
            (std::vector<uint64_t>{843834, 616067, 588900, 607345, 866835}));
}

using GrainIndexShuffleRecordedTest = RecordedValuesTest;
INSTANTIATE_TEST_SUITE_P(By, GrainIndexShuffleRecordedTest, BothRecorders(), RecorderName);

TEST_P(GrainIndexShuffleRecordedTest, EqualsRecordedValues) {
  const auto cases = Read("grain/index_shuffle.json")["cases"];
  ASSERT_GE(cases.size(), Own() ? 58u : 200u);
  size_t compared = 0;
  for (const auto& one : cases) {
    const uint64_t size = one["n"];
    const GrainIndexShuffle shuffle(size, one["seed"], one["rounds"]);
    const auto expect = [&](uint64_t index, uint64_t item) {
      ++compared;
      ASSERT_EQ(shuffle[index], item) << size << " " << one["seed"] << " at " << index;
    };
    if (one.contains("order")) {
      for (uint64_t i = 0; i < size; ++i) expect(i, one["order"][i]);
    }
    if (one.contains("order_head")) {
      const auto& head = one["order_head"];
      for (uint64_t i = 0; i < head.size(); ++i) expect(i, head[i]);
      const auto& tail = one["order_tail"];
      for (uint64_t i = 0; i < tail.size(); ++i) expect(size - tail.size() + i, tail[i]);
    }
    if (one.contains("samples")) {
      for (const auto& sample : one["samples"]) expect(sample[0], sample[1]);
    }
    if (one.contains("distinct")) {
      std::set<uint64_t> items;
      for (uint64_t i = 0; i < size; ++i) items.insert(shuffle[i]);
      EXPECT_EQ(items.size(), one["distinct"]) << size;
    }
  }
  EXPECT_GT(compared, Own() ? 2'500u : 5'000u);
}

}  // namespace
}  // namespace easydata::order
