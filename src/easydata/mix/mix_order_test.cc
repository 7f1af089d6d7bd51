#include "easydata/mix/mix_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace easydata::mix {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

MixSettings OrderOptions(const std::vector<double>& weights, int64_t block_size) {
  MixSettings options;
  options.weights = weights;
  for (size_t i = 0; i < weights.size(); ++i) options.names.push_back("s" + std::to_string(i));
  options.block_size = block_size;
  options.seed = 3;
  return options;
}

/// Examples before `n` by source, and the block that `n` is in, block by block from the start.
std::vector<int64_t> Walk(const MixSettings& options, int64_t n, std::vector<int32_t>* block) {
  MixOrder order = MixOrder::Make(options).ValueOrDie();
  std::vector<int64_t> given(options.names.size(), 0);
  for (int64_t left = n;; left -= options.block_size) {
    order.StartBlock(0);
    *block = order.order();
    for (int64_t k = 0; k < std::min(left, options.block_size); ++k) ++given[(*block)[k]];
    if (left < options.block_size) return given;
    order.EndBlock();
  }
}

void ExpectSeeksAsWalks(const MixSettings& options, int64_t limit) {
  std::mt19937_64 random(1);
  MixOrder order = MixOrder::Make(options).ValueOrDie();
  std::vector<int64_t> examples = {0, 1, options.block_size, options.block_size - 1, limit};
  for (int k = 0; k < 12; ++k) examples.push_back(static_cast<int64_t>(random() % limit));
  for (int64_t n : examples) {
    std::vector<int32_t> block;
    const auto walked = Walk(options, n, &block);
    EXPECT_EQ(order.Seek(n).ValueOrDie(), walked) << "example " << n;
    EXPECT_EQ(order.order(), block) << "example " << n;
    EXPECT_EQ(order.block(), n / options.block_size);
    MixOrder fresh = MixOrder::Make(options).ValueOrDie();
    EXPECT_EQ(fresh.Seek(n).ValueOrDie(), walked) << "from the start to example " << n;
    // From there the order goes on as it would have.
    order.EndBlock();
    order.StartBlock(0);
    Walk(options, (n / options.block_size + 1) * options.block_size, &block);
    EXPECT_EQ(order.order(), block) << "the block behind example " << n;
  }
}

TEST(MixOrderTest, SeeksAsItWalks) {
  ExpectSeeksAsWalks(OrderOptions({0.5, 0.3, 0.2}, 100), 20'000);  // whole shares
  ExpectSeeksAsWalks(OrderOptions({1, 1, 1}, 1000), 50'000);       // thirds
  ExpectSeeksAsWalks(OrderOptions({5, 3, 9, 0, 2, 2}, 7), 9'000);  // 21sts
  ExpectSeeksAsWalks(OrderOptions({3, 1, 1, 1}, 10), 9'000);       // the largest one is whole
  ExpectSeeksAsWalks(OrderOptions({M_PI, M_E, 1, std::sqrt(2)}, 13), 9'000);  // no fractions
  std::vector<double> many(300);
  for (size_t i = 0; i < many.size(); ++i) many[i] = 1.0 / static_cast<double>(1 + i);
  ExpectSeeksAsWalks(OrderOptions(many, 50), 5'000);
}

TEST(MixOrderTest, SeeksThroughASchedule) {
  MixSettings options = OrderOptions({1, 1}, 10);
  options.schedule =
      WeightSchedule::Make(options.names, {{0, {0.9, 0.1}}, {400, {1, 2}}, {700, {0.25, 0.75}}},
                           Interpolation::kLinear)
          .ValueOrDie();
  ExpectSeeksAsWalks(options, 3'000);
  options.clock = StepClock{{{0, 2}, {50, 4}}, 0};
  ExpectSeeksAsWalks(options, 5'000);
  // Whole shares at last, but with something carried.
  options.clock = StepClock();
  options.schedule = WeightSchedule::Make(options.names, {{0, {0.33, 0.67}}, {70, {0.3, 0.7}}},
                                          Interpolation::kStep)
                         .ValueOrDie();
  ExpectSeeksAsWalks(options, 3'000);
}

TEST(MixOrderTest, RandomWeightsSeekAsTheyWalk) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<double> weights(2 + random() % 9);
    for (double& weight : weights) weight = static_cast<double>(random() % 20);
    weights[0] += 1;
    ExpectSeeksAsWalks(OrderOptions(weights, 1 + static_cast<int64_t>(random() % 40)), 2'000);
  }
}

TEST(MixOrderTest, FractionsStayWithinOneExampleForEver) {
  for (const std::vector<double>& weights :
       {std::vector<double>{1, 1, 1}, {5, 3, 9, 0, 2, 2}, {1, 2, 4, 8, 16, 32, 64}}) {
    const MixSettings options = OrderOptions(weights, 7);
    double sum = 0;
    for (double weight : weights) sum += weight;
    MixOrder order = MixOrder::Make(options).ValueOrDie();
    for (int64_t block : {1, 10, 1'000, 1'000'000, 1'000'000'000}) {
      const auto given = order.Seek(block * 7).ValueOrDie();
      for (size_t i = 0; i < weights.size(); ++i) {
        const long double due = static_cast<long double>(weights[i]) / sum * 7 * block;
        EXPECT_LE(std::abs(due - given[i]), 1.001L) << "block " << block << ", source " << i;
      }
    }
  }
}

MixSettings GrainOptions(const std::vector<double>& weights, int64_t block_size) {
  MixSettings options = OrderOptions(weights, block_size);
  options.order = MixOrderKind::kGrain;
  return options;
}

TEST(MixOrderTest, GrainsOrderIsTheSameForBlocksOfAnySize) {
  const std::vector<double> weights = {0.5, 3, 1.005};
  const GrainMix mix = GrainMix::Make(weights).ValueOrDie();
  for (int64_t block_size : {1, 7, 100, 1000}) {
    MixOrder order = MixOrder::Make(GrainOptions(weights, block_size)).ValueOrDie();
    for (uint64_t row = 0; row < 3'000;) {
      order.StartBlock(0);
      ASSERT_EQ(static_cast<int64_t>(order.order().size()), block_size);
      for (int32_t source : order.order()) {
        ASSERT_EQ(static_cast<size_t>(source), mix.At(row).source) << row;
        ++row;
      }
      order.EndBlock();
    }
  }
}

TEST(MixOrderTest, SeeksInGrainsOrderAsItWalks) {
  ExpectSeeksAsWalks(GrainOptions({1, 1, 1}, 1000), 50'000);
  ExpectSeeksAsWalks(GrainOptions({M_PI, M_E, 1, std::sqrt(2)}, 13), 9'000);
  ExpectSeeksAsWalks(GrainOptions({2}, 5), 100);
  MixOrder order = MixOrder::Make(GrainOptions({1, 3}, 10)).ValueOrDie();
  const int64_t far = int64_t{1} << 60;
  EXPECT_EQ(order.Seek(far).ValueOrDie(), (std::vector<int64_t>{far / 4, far / 4 * 3}));
  EXPECT_FALSE(order.Seek(-1).ok());
}

TEST(MixOrderTest, PositionsInGrainsOrderAreItsBlockAlone) {
  MixOrder order = MixOrder::Make(GrainOptions({2, 1, 4}, 10)).ValueOrDie();
  for (int block = 0; block < 7; ++block) {
    order.StartBlock(0);
    order.EndBlock();
  }
  nlohmann::json cursor;
  order.Save(&cursor);
  EXPECT_EQ(cursor, (nlohmann::json{{"block", 7}, {"examples", 70}}));
  order.StartBlock(0);
  for (bool started : {false, true}) {
    MixOrder restored = MixOrder::Make(GrainOptions({2, 1, 4}, 10)).ValueOrDie();
    ASSERT_TRUE(restored.Restore(cursor, started).ok());
    if (!started) restored.StartBlock(0);
    EXPECT_EQ(restored.order(), order.order());
  }
  for (const auto& [block, examples] : {std::pair{7, 71}, {8, 70}, {-1, -10}}) {
    cursor = {{"block", block}, {"examples", examples}};
    EXPECT_TRUE(order.Restore(cursor, false).IsInvalid()) << cursor;
  }
}

TEST(MixOrderTest, RefusesWhatGrainsOrderHasNoMeaningFor) {
  const auto refusal = [](const MixSettings& options) {
    return MixOrder::Make(options).status().message();
  };
  MixSettings tokens = GrainOptions({1, 1}, 10);
  tokens.unit = MixUnit::kTokens;
  EXPECT_THAT(refusal(tokens), AllOf(HasSubstr("order=\"grain\""), HasSubstr("unit=\"tokens\"")));
  MixSettings scheduled = GrainOptions({}, 10);
  scheduled.names = {"s0", "s1"};
  scheduled.schedule =
      WeightSchedule::Make(scheduled.names, {{0, {1, 2}}}, Interpolation::kStep).ValueOrDie();
  EXPECT_THAT(refusal(scheduled),
              AllOf(HasSubstr("order=\"grain\""), HasSubstr("weight schedule")));
  EXPECT_THAT(refusal(GrainOptions({1, 0}, 10)),
              AllOf(HasSubstr("order=\"grain\""), HasSubstr("sources[\"s1\"] is 0")));
  EXPECT_THAT(refusal(GrainOptions({1, 1e-300}, 10)), HasSubstr("10^16"));
}

TEST(MixOrderTest, RefusesToSeekWhereTokensDecide) {
  MixSettings options = OrderOptions({1, 1}, 10);
  options.unit = MixUnit::kTokens;
  EXPECT_TRUE(MixOrder::Make(options).ValueOrDie().Seek(5).status().IsInvalid());
  options.unit = MixUnit::kExamples;
  options.clock.row_tokens = 8;
  EXPECT_TRUE(MixOrder::Make(options).ValueOrDie().Seek(5).status().IsInvalid());
}

TEST(MixOrderTest, DescriptionsCanBeReadBack) {
  MixSettings options = OrderOptions({0.1, 1.0 / 3}, 10);
  options.unit = MixUnit::kTokens;
  options.stop = StopStrategy::kAllExhausted;
  const auto same = [](const MixSettings& a) {
    const auto keys = nlohmann::json::parse(a.Description().dump());
    EXPECT_EQ(MixSettings::FromDescription(keys).ValueOrDie().Description(), a.Description());
  };
  same(options);
  options.weights.clear();
  options.schedule =
      WeightSchedule::Make(options.names, {{0, {0.1, 0.7}}, {9, {1, 2}}}, Interpolation::kCosine)
          .ValueOrDie();
  same(options);
  options.schedule_unit = ScheduleUnit::kSteps;
  same(options);
  same(GrainOptions({0.1, 1.0 / 3}, 10));
  EXPECT_TRUE(MixSettings::FromDescription({{"sources", {"a"}}}).status().IsInvalid());
}

TEST(MixOrderTest, DescriptionsNameTheOrderOnlyWhereItIsNotTheDefault) {
  EXPECT_EQ(OrderOptions({1, 2}, 10).Description().at("order"), "blocks");
  EXPECT_EQ(GrainOptions({1, 2}, 10).Description().at("order"), "grain");
}

}  // namespace
}  // namespace easydata::mix
