#include "easydata/mix/block_mixer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "easydata/mix/weight_schedule.h"

namespace easydata::mix {
namespace {

BlockMixer MakeMixer(int num_sources, int64_t block_size, uint64_t seed = 0) {
  return BlockMixer::Make(num_sources, block_size, seed).ValueOrDie();
}

/// Runs `blocks` blocks and returns how far any source was from its share at a block's end.
double WorstDistance(const std::vector<std::vector<double>>& weights_of_block, int64_t block_size) {
  const int n = static_cast<int>(weights_of_block[0].size());
  BlockMixer mixer = MakeMixer(n, block_size);
  std::vector<long double> share(n, 0);
  std::vector<int64_t> given(n, 0);
  double worst = 0;
  const int64_t blocks = static_cast<int64_t>(weights_of_block.size());
  for (int64_t b = 0; b < blocks; ++b) {
    const auto& weights = weights_of_block[b];
    mixer.StartBlock(weights, [&](int64_t k) -> std::optional<std::vector<double>> {
      if (b + k >= blocks) return std::nullopt;
      return weights_of_block[b + k];
    });
    EXPECT_EQ(static_cast<int64_t>(mixer.order().size()), block_size);
    std::vector<int64_t> in_order(n, 0);
    for (int32_t source : mixer.order()) ++in_order[source];
    EXPECT_EQ(in_order, mixer.counts());
    long double sum = 0;
    for (double weight : weights) sum += weight;
    for (int i = 0; i < n; ++i) {
      EXPECT_GE(mixer.counts()[i], 0);
      share[i] += weights[i] / sum * block_size;
      given[i] += mixer.counts()[i];
      worst = std::max(worst, static_cast<double>(std::abs(share[i] - given[i])));
    }
    mixer.EndBlock();
  }
  return worst;
}

TEST(BlockMixerTest, WholeSharesAreExactInEveryBlock) {
  // 0.29 * 100 is 28.999999999999996 in doubles.
  for (int64_t block_size : {100, 1000}) {
    BlockMixer mixer = MakeMixer(2, block_size);
    for (int block = 0; block < 50; ++block) {
      mixer.StartBlock({0.29, 0.71});
      EXPECT_EQ(mixer.counts(),
                (std::vector<int64_t>{block_size * 29 / 100, block_size * 71 / 100}));
      mixer.EndBlock();
      EXPECT_EQ(mixer.carry(), (std::vector<int64_t>{0, 0}));
    }
  }
}

TEST(BlockMixerTest, BlockZeroGivesTheRestToTheLargestAsEasyDelDoes) {
  BlockMixer thirds = MakeMixer(3, 1000);
  thirds.StartBlock({1, 1, 1});
  EXPECT_EQ(thirds.counts(), (std::vector<int64_t>{334, 333, 333}));
  BlockMixer two = MakeMixer(2, 10);
  two.StartBlock({0.62, 0.38});
  EXPECT_EQ(two.counts(), (std::vector<int64_t>{7, 3}));
}

// E8
TEST(BlockMixerTest, AmongThoseThatAreOwedTheSameTheFirstIsServed) {
  BlockMixer thirds = MakeMixer(3, 10);
  thirds.FixWeights({1, 1, 1});
  const std::vector<std::vector<int64_t>> expected = {{4, 3, 3}, {3, 4, 3}, {3, 3, 4}};
  for (int block = 0; block < 9; ++block) {
    thirds.StartBlock({1, 1, 1});
    EXPECT_EQ(thirds.counts(), expected[block % 3]) << block;
    thirds.EndBlock();
  }
}

// E8
TEST(BlockMixerTest, AmongThoseThatAreLeastOwedTheFirstWaits) {
  BlockMixer mixer = MakeMixer(4, 1);
  std::vector<std::vector<int64_t>> counts;
  for (const std::vector<double>& weights :
       std::vector<std::vector<double>>{{1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}}) {
    mixer.StartBlock(weights);
    counts.push_back(mixer.counts());
    mixer.EndBlock();
  }
  // After two blocks the first two sources are half an example ahead, the others as much behind:
  // the third block owes each of these one, and has room for one.
  const std::vector<std::vector<int64_t>> expected = {
      {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}};
  EXPECT_EQ(counts, expected);
}

TEST(BlockMixerTest, BlockOrderIsNumPysShuffleOfTheList) {
  BlockMixer mixer = MakeMixer(2, 10, 42);
  mixer.StartBlock({0.5, 0.5});
  EXPECT_EQ(mixer.order(), (std::vector<int32_t>{1, 1, 0, 1, 0, 0, 0, 1, 0, 1}));
}

TEST(BlockMixerTest, D11SmallWeightsDoNotStarve) {
  BlockMixer mixer = MakeMixer(2, 100);
  int64_t given = 0;
  for (int block = 0; block < 1000; ++block) {
    mixer.StartBlock({0.001, 0.999});
    given += mixer.counts()[0];
    mixer.EndBlock();
  }
  EXPECT_EQ(given, 100);
}

TEST(BlockMixerTest, EverySourceIsWithinOneExampleOfItsShareForEver) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 120; ++trial) {
    const int n = 1 + static_cast<int>(random() % 40);
    const int64_t block_size = 1 + random() % (trial % 2 == 0 ? 12 : 500);
    std::vector<double> weights(n);
    for (double& weight : weights) {
      weight = std::pow(10.0, -static_cast<double>(random() % 4)) * (1 + random() % 7);
    }
    ASSERT_LE(WorstDistance(std::vector<std::vector<double>>(200, weights), block_size), 1 + 1e-6)
        << "trial " << trial;
  }
}

TEST(BlockMixerTest, ThousandSourcesStayWithinOneExample) {
  std::vector<double> weights(1000);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 1.0 / static_cast<double>(1 + i);
  EXPECT_LE(WorstDistance(std::vector<std::vector<double>>(100, weights), 100), 1 + 1e-6);
  EXPECT_LE(WorstDistance(std::vector<std::vector<double>>(300, std::vector<double>(1000, 1.0)), 7),
            1 + 1e-6);
}

TEST(BlockMixerTest, SchedulesStayWithinOneExample) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 2 + static_cast<int>(random() % 8);
    std::vector<double> from(n), to(n);
    for (int i = 0; i < n; ++i) {
      from[i] = random() % 100;
      to[i] = random() % 100;
    }
    from[0] = to[0] = 1;
    std::vector<std::vector<double>> weights;
    for (int block = 0; block < 60; ++block) {
      std::vector<double> now(n);
      for (int i = 0; i < n; ++i) now[i] = from[i] + block / 60.0 * (to[i] - from[i]);
      weights.push_back(now);
    }
    ASSERT_LE(WorstDistance(weights, 1 + random() % 50), 1 + 1e-6) << "trial " << trial;
  }
}

TEST(BlockMixerTest, SharpTurnsOfAScheduleAreSeenInTime) {
  // Weights that drop to nothing: which source gets the example left over must be known before.
  std::mt19937 random(13);
  for (int trial = 0; trial < 2000; ++trial) {
    const int n = 3 + static_cast<int>(random() % 8);
    std::vector<std::vector<double>> weights;
    for (int part = 0; part < 6; ++part) {
      std::vector<double> now(n);
      for (double& weight : now) weight = random() % 3 == 0 ? 1 + random() % 9 : 0;
      now[random() % n] += 1;
      weights.insert(weights.end(), 1 + random() % 9, now);
    }
    ASSERT_LE(WorstDistance(weights, 1 + random() % 9), 1 + 1e-6) << "trial " << trial;
  }
}

TEST(BlockMixerTest, RestoredInAnyBlockTheRestIsTheSame) {
  const std::vector<double> weights = {0.123, 0.456, 0.421};
  BlockMixer whole = MakeMixer(3, 7, 5);
  for (int block = 0; block < 30; ++block) {
    BlockMixer restored = MakeMixer(3, 7, 5);
    ASSERT_TRUE(restored.Restore(whole.block(), whole.carry()).ok());
    whole.StartBlock(weights);
    restored.StartBlock(weights);
    EXPECT_EQ(restored.order(), whole.order());
    whole.EndBlock();
    restored.EndBlock();
    EXPECT_EQ(restored.carry(), whole.carry());
  }
  EXPECT_FALSE(MakeMixer(3, 7).Restore(1, {1, 2, 3}).ok());
  EXPECT_FALSE(MakeMixer(3, 7).Restore(1, {0, 0}).ok());
}

TEST(BlockMixerTest, RefusesWhatCannotBeMixed) {
  EXPECT_FALSE(BlockMixer::Make(0, 10, 0).ok());
  EXPECT_FALSE(BlockMixer::Make(2, 0, 0).ok());
  EXPECT_FALSE(BlockMixer::Make(2, -5, 0).ok());
}

}  // namespace
}  // namespace easydata::mix
