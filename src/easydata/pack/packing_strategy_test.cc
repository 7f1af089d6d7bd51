#include "easydata/pack/packing_strategy.h"

#include <gtest/gtest.h>

#include "easydata/pack/window_planner.h"

namespace easydata::pack {
namespace {

TEST(PackingStrategyTest, EachIsFoundByItsName) {
  const auto names = NamesOf(PackStrategy{});
  EXPECT_EQ(AllPackStrategies().size(), names.size());
  for (PackStrategy strategy : AllPackStrategies()) {
    EXPECT_EQ(ParseName(names, "strategy", Name(strategy)).ValueOrDie(), strategy);
    EXPECT_EQ(names[static_cast<size_t>(strategy)].value, strategy);
  }
  const Status unknown = ParseName(names, "strategy", "best").status();
  EXPECT_TRUE(unknown.IsInvalid());
  EXPECT_TRUE(unknown.message().starts_with("unknown strategy; use \"greedy\", \"pool\", "));
  EXPECT_TRUE(unknown.message().ends_with(" or \"grain_concat\": \"best\"")) << unknown;
}

TEST(PackingStrategyTest, ThoseThatConcatenateHaveNoPlanner) {
  for (PackStrategy strategy : AllPackStrategies()) {
    PackSettings options;
    options.strategy = strategy;
    EXPECT_EQ(WindowPlanner::Make(options) == nullptr,
              strategy == PackStrategy::kGreedy || strategy == PackStrategy::kGrainConcat)
        << Name(strategy);
  }
}

TEST(PackingStrategyTest, OnlyStrategiesWithBinsShuffleThem) {
  PackSettings options;
  options.shuffle_bins = true;
  options.strategy = PackStrategy::kGrainBestFit;
  EXPECT_TRUE(options.Validate().ok());
  options.strategy = PackStrategy::kPool;
  EXPECT_EQ(options.Validate().message(),
            "shuffle_bins is for the bins of \"grain_first_fit\" and \"grain_best_fit\"; the "
            "strategy is \"pool\"");
}

}  // namespace
}  // namespace easydata::pack
