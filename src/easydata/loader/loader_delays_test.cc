#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "easydata/loader/loader.h"
#include "easydata/loader/test_streams.h"
#include "easydata/mix/mix_stage.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/pack/pack_stage.h"

namespace easydata::loader {
namespace {

constexpr int kSteps = 20;

/// Rows of uneven batches that come late, each after a time of its own.
StreamPlan LateSource(const std::vector<int>& sizes, uint64_t delays) {
  return Dealt(PlanOf(MakeBatches(sizes, /*ragged=*/true), delays));
}

/// Two sources, mixed, packed and shuffled, with delays upstream and downstream of the mix.
StreamPlan LatePipeline(mix::MixUnit unit, pack::PackStrategy strategy, uint64_t delays) {
  mix::MixOptions mix;
  mix.names = {"a", "b"};
  mix.weights = {0.7, 0.3};
  mix.block_size = 10;
  mix.unit = unit;
  mix::MixWiring wiring;
  wiring.add_source = false;
  pack::PackOptions pack;
  pack.seq_length = 8;
  pack.eos_token_id = 2;
  pack.strategy = strategy;
  pack.pack_window = 9;
  order::WindowShuffleOptions shuffle;
  shuffle.rows = 7;
  const uint64_t more = delays == 0 ? 0 : 1000;
  const std::vector<StreamPlan> sources = {
      LateSource({3, 0, 11, 1, 8, 20, 5, 1}, delays),
      LateSource({7, 7, 1, 0, 16, 2}, delays + more),
  };
  StreamPlan plan = mix::MixPlan(sources, mix, wiring).ValueOrDie();
  plan = MapPlan(std::move(plan), std::make_shared<DelayOp>(delays + 2 * more));
  plan = pack::PackPlan(std::move(plan), pack, {.rows_per_batch = 3}).ValueOrDie();
  return order::WindowShufflePlan(std::move(plan), shuffle, "loader.shuffle").ValueOrDie();
}

struct Seen {
  uint64_t digest = 0;
  std::vector<std::vector<std::string>> steps;
  std::vector<std::string> states;

  bool operator==(const Seen&) const = default;
};

Seen RunLate(mix::MixUnit unit, pack::PackStrategy strategy, int64_t lanes, uint64_t delays) {
  LoaderOptions options = Options(4);
  options.steps.lanes = lanes;
  options.num_threads = 16;  // so that each source of each lane reads some batches ahead
  auto loader = MakeLoader(LatePipeline(unit, strategy, delays), options);
  Pcg64 random({delays});
  Seen seen;
  for (int step = 0; step < kSteps; ++step) {
    // The trainer is late, too.
    if (delays != 0 && step % 5 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.Interval(2000)));
    }
    auto batch = loader->Take();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) return seen;
    seen.steps.push_back(Describe(**batch));
    seen.states.push_back(loader->SaveState().dump());
  }
  seen.digest = loader->digest();
  return seen;
}

TEST(LoaderDelaysTest, RandomDelaysChangeNothing) {
  for (const auto& [unit, strategy] :
       {std::pair{mix::MixUnit::kExamples, pack::PackStrategy::kGreedy},
        std::pair{mix::MixUnit::kTokens, pack::PackStrategy::kFirstFit}}) {
    for (int64_t lanes : {1, 2}) {
      const Seen expected = RunLate(unit, strategy, lanes, 0);
      ASSERT_EQ(expected.steps.size(), static_cast<size_t>(kSteps));
      for (uint64_t seed : {1, 2, 3, 4, 5}) {
        const Seen late = RunLate(unit, strategy, lanes, seed);
        EXPECT_EQ(late.digest, expected.digest) << lanes << " lanes, delays " << seed;
        EXPECT_EQ(late.steps, expected.steps) << lanes << " lanes, delays " << seed;
        EXPECT_EQ(late.states, expected.states) << lanes << " lanes, delays " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace easydata::loader
