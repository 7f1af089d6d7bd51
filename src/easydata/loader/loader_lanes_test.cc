#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "easydata/loader/loader.h"
#include "easydata/loader/loader_state.h"
#include "easydata/loader/test_streams.h"
#include "easydata/order/repeat_stage.h"

namespace easydata::loader {
namespace {

using testing::HasSubstr;
using Rows = std::vector<std::string>;

LoaderOptions LaneOptionsOf(int64_t lanes, int64_t rank, int64_t world_size) {
  LoaderOptions options = Options(12);
  options.steps.lanes = lanes;
  options.steps.rank = rank;
  options.steps.world_size = world_size;
  options.steps.steps = 10;
  options.steps.padding.columns["input_ids"].lengths = {3};
  return options;
}

Rows Take(Loader* loader) {
  auto batch = loader->Take();
  EXPECT_TRUE(batch.ok()) << batch.status();
  return batch.ok() && batch->has_value() ? Describe(**batch) : Rows();
}

/// So many steps of all ranks, and their joined state.
std::pair<std::vector<Rows>, nlohmann::json> Together(int64_t world_size, int steps,
                                                      const nlohmann::json& state) {
  std::vector<Rows> out(steps);
  std::vector<nlohmann::json> states;
  for (int64_t rank = 0; rank < world_size; ++rank) {
    auto loader = MakeLoader(Dealt(SomePlan()), LaneOptionsOf(4, rank, world_size));
    if (!state.is_null()) {
      EXPECT_TRUE(loader->LoadState(state).ok());
    }
    for (Rows& step : out) {
      for (std::string& row : Take(loader.get())) step.push_back(std::move(row));
    }
    states.push_back(loader->SaveState());
  }
  auto merged = MergeStates(states);
  EXPECT_TRUE(merged.ok()) << merged.status();
  return {std::move(out), *merged};
}

TEST(LoaderLanesTest, EveryRankReadsTheLanesOfItsRows) {
  for (int64_t lanes : {1, 2, 3, 4, 6, 12}) {
    for (int64_t world_size : {1, 2, 3, 4, 6, 12}) {
      std::vector<int> read(lanes, 0);
      for (int64_t rank = 0; rank < world_size; ++rank) {
        const auto range = LaneOptionsOf(lanes, rank, world_size).steps.LanesRead();
        for (int64_t lane = range.begin; lane < range.end; ++lane) ++read[lane];
        for (int64_t row = rank * 12 / world_size; row < (rank + 1) * 12 / world_size; ++row) {
          EXPECT_GE(row * lanes / 12, range.begin);
          EXPECT_LT(row * lanes / 12, range.end);
        }
      }
      for (int count : read) EXPECT_GE(count, 1);
      if (lanes % world_size == 0) {
        EXPECT_THAT(read, testing::Each(1));
      }
    }
  }
}

TEST(LoaderLanesTest, AnyNumberOfRanksGivesTheSameRows) {
  const auto [whole, state] = Together(1, 10, nullptr);
  for (int64_t world_size : {2, 3, 4, 6, 12}) {
    const auto [rows, merged] = Together(world_size, 10, nullptr);
    EXPECT_EQ(rows, whole) << world_size;
    EXPECT_EQ(merged, state) << world_size;
  }
}

TEST(LoaderLanesTest, GoesOnWithOtherNumbersOfRanks) {
  const auto [whole, end] = Together(1, 9, nullptr);
  nlohmann::json state;
  std::vector<Rows> taken;
  for (const auto& [world_size, steps] :
       std::vector<std::pair<int64_t, int>>{{1, 1}, {4, 2}, {3, 3}, {12, 1}, {2, 2}}) {
    auto [rows, merged] = Together(world_size, steps, state);
    for (Rows& step : rows) taken.push_back(std::move(step));
    state = std::move(merged);
  }
  EXPECT_EQ(taken, whole);
  EXPECT_EQ(state, end);
}

TEST(LoaderLanesTest, LanesAreReadInTheirOwnPace) {
  // 57 rows: 15 in lane 0, 14 in the others; a step takes 3 of each.
  auto loader = MakeLoader(Dealt(SomePlan()), LaneOptionsOf(4, 0, 1));
  for (int step = 0; step < 5; ++step) Take(loader.get());
  const nlohmann::json lanes = loader->SaveState().at("lanes");
  EXPECT_EQ(lanes.at("0").at("epoch"), 0);
  for (const char* lane : {"1", "2", "3"}) EXPECT_EQ(lanes.at(lane).at("epoch"), 1) << lane;
}

TEST(LoaderLanesTest, StepsEndAndGoOn) {
  for (int64_t lanes : {1, 4}) {
    LoaderOptions options = LaneOptionsOf(lanes, 0, 1);
    auto whole = MakeLoader(Dealt(SomePlan()), options);
    options.steps.steps = 4;
    auto parts = MakeLoader(Dealt(SomePlan()), options);
    std::vector<Rows> joined;
    for (int pass = 0; pass < 3; ++pass) {
      const auto steps = Drain(parts.get());
      EXPECT_EQ(steps.size(), 4u);
      joined.insert(joined.end(), steps.begin(), steps.end());
    }
    joined.resize(10);
    EXPECT_EQ(Drain(whole.get()), joined);
    EXPECT_EQ(parts->SaveState().at("pass_start"), 12);
  }
}

TEST(LoaderLanesTest, AnyStepByItsNumber) {
  auto loader = MakeLoader(Dealt(SomePlan()), LaneOptionsOf(4, 1, 3));
  std::vector<Rows> steps;
  for (int step = 0; step < 10; ++step) steps.push_back(Take(loader.get()));
  auto other = MakeLoader(Dealt(SomePlan()), LaneOptionsOf(4, 1, 3));
  for (int step = 0; step < 4; ++step) Take(other.get());
  for (int64_t step : {9, 4, 3, 0, 7}) {
    const auto batch = other->At(step);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(Describe(*batch), steps[step]) << step;
  }
  EXPECT_TRUE(other->At(10).status().IsIndexError());
}

/// 57 rows whose number is known: lane 0 of 4 has 15 of them, the others 14.
StreamPlan CountedPlan() {
  const auto batches = MakeBatches({3, 0, 11, 1, 0, 0, 8, 20, 5, 1, 1, 7}, /*ragged=*/false);
  StreamPlan plan;
  plan.node = MakeNode("source", {{"data", "memory"}});
  plan.make = [batches](const StageContext&) {
    return MakeMemoryStage(batches, batches[0]->schema(), "memory", "rows");
  };
  return Dealt(std::move(plan));
}

LoaderOptions CountedOptionsOf(int64_t rank, int64_t world_size, int64_t passes = 1) {
  LoaderOptions options = LaneOptionsOf(4, rank, world_size);
  options.steps.steps.reset();
  options.steps.passes = passes;
  return options;
}

TEST(LoaderLanesTest, LanesOfCountedRowsEndTogether) {
  for (const auto& [passes, steps] : std::vector<std::pair<int64_t, size_t>>{{1, 4}, {2, 9}}) {
    std::vector<Rows> whole;
    for (int64_t world_size : {1, 2, 3, 4}) {
      std::vector<Rows> all(2 * steps);
      std::vector<nlohmann::json> states;
      int64_t dropped = 0;
      for (int64_t rank = 0; rank < world_size; ++rank) {
        auto loader = MakeLoader(CountedPlan(), CountedOptionsOf(rank, world_size, passes));
        for (int end = 0; end < 2; ++end) {
          const auto part = Drain(loader.get());
          ASSERT_EQ(part.size(), steps) << rank << " of " << world_size;
          for (size_t i = 0; i < steps; ++i) {
            for (const std::string& row : part[i]) all[end * steps + i].push_back(row);
          }
        }
        const auto counts = loader->stats().counts.sources();
        dropped += counts.at("memory").dropped.at("drop_last");
        states.push_back(loader->SaveState());
        EXPECT_EQ(states.back().at("pass_start"), 2 * steps);
      }
      const auto merged = MergeStates(states);
      EXPECT_TRUE(merged.ok()) << merged.status();
      if (world_size != 3) {  // where two ranks read one lane, both count it
        EXPECT_EQ(dropped, 2 * (57 * passes - 12 * static_cast<int64_t>(steps)));
      }
      if (whole.empty()) whole = all;
      EXPECT_EQ(all, whole) << world_size;
    }
    EXPECT_EQ(whole.front().size(), 12u);
  }
}

TEST(LoaderLanesTest, StepsAndStatesOfCountedRows) {
  auto whole = MakeLoader(CountedPlan(), CountedOptionsOf(0, 1));
  std::vector<Rows> steps;
  std::vector<nlohmann::json> states = {whole->SaveState()};
  for (int pass = 0; pass < 3; ++pass) {
    for (int step = 0; step < 4; ++step) {
      steps.push_back(Take(whole.get()));
      states.push_back(whole->SaveState());
    }
    EXPECT_TRUE(Take(whole.get()).empty());
    states.back() = whole->SaveState();
  }
  for (size_t step = 0; step < states.size(); ++step) {
    auto restored = MakeLoader(CountedPlan(), CountedOptionsOf(0, 1));
    ASSERT_TRUE(restored->LoadState(states[step]).ok());
    EXPECT_EQ(restored->SaveState(), states[step]);
    for (size_t i = step; i < steps.size(); ++i) {
      EXPECT_EQ(Take(restored.get()), steps[i]) << "from " << step;
      if (i % 4 == 3) {
        EXPECT_TRUE(Take(restored.get()).empty());
      }
    }
    EXPECT_EQ(Describe(*restored->At(6)), steps[6]);
    EXPECT_TRUE(restored->At(16).status().IsIndexError());
  }
}

TEST(LoaderLanesTest, RowsThatNobodyCountedNeedSteps) {
  auto loader = MakeLoader(Dealt(SomePlan()), CountedOptionsOf(0, 1));
  EXPECT_THAT(loader->Take().status().message(), HasSubstr("give steps="));
  // Its files have become shorter than they say.
  StreamPlan shrunken;
  shrunken.node = CountedPlan().node;
  shrunken.make = [](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto whole, CountedPlan().make({}));
    return SelectLaneRows(
        std::move(whole), context,
        []() -> Result<std::optional<std::vector<int64_t>>> { return std::vector<int64_t>{80}; });
  };
  loader = MakeLoader(std::move(shrunken), CountedOptionsOf(0, 1));
  for (int step = 0; step < 4; ++step) EXPECT_EQ(Take(loader.get()).size(), 12u);
  EXPECT_THAT(loader->Take().status().message(),
              HasSubstr("lane 1 of 4 has fewer rows than were counted"));
  LoaderOptions options = CountedOptionsOf(0, 1);
  options.steps.drop_last = false;
  EXPECT_THAT(Loader::Make(CountedPlan(), options).status().message(), HasSubstr("drop_last: "));
  // One row, which is in lane 0.
  const auto few = MakeBatches({1}, /*ragged=*/false);
  StreamPlan plan;
  plan.node = CountedPlan().node;
  plan.make = [few](const StageContext&) {
    return MakeMemoryStage(few, few[0]->schema(), "memory", "rows");
  };
  loader = MakeLoader(Dealt(std::move(plan)), CountedOptionsOf(0, 1));
  EXPECT_THAT(
      loader->Take().status().message(),
      HasSubstr("which has no rows; give steps=, or use fewer lanes: there are none in lane 1"));
}

TEST(LoaderLanesTest, EndlessStreamsNeedNoSteps) {
  LoaderOptions options = LaneOptionsOf(4, 0, 1);
  options.steps.steps.reset();
  const auto forever = order::RepeatPlan(Dealt(SomePlan()), std::nullopt);
  ASSERT_TRUE(forever.ok());
  auto endless = MakeLoader(*forever, options);
  auto counted = MakeLoader(Dealt(SomePlan()), LaneOptionsOf(4, 0, 1));
  for (int step = 0; step < 10; ++step) EXPECT_EQ(Take(endless.get()), Take(counted.get()));
  endless->Close();
}

TEST(LoaderLanesTest, AnErrorOfOneLaneComesOutAndClosingIsPrompt) {
  StreamPlan plan = Dealt(SomePlan());
  plan.make = [make = plan.make](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    if (context.lane == 2 && context.epoch == 1) return Status::IOError("the disk is gone");
    return make(context);
  };
  auto loader = MakeLoader(plan, LaneOptionsOf(4, 0, 1));
  for (int step = 0; step < 4; ++step) EXPECT_EQ(Take(loader.get()).size(), 12u);
  EXPECT_THAT(loader->Take().status().message(), HasSubstr("the disk is gone"));
  EXPECT_THAT(loader->Take().status().message(), HasSubstr("the disk is gone"));
  loader->Close();
  auto busy = MakeLoader(Dealt(SomePlan()), LaneOptionsOf(4, 0, 1));
  Take(busy.get());
  busy->Close();
}

}  // namespace
}  // namespace easydata::loader
