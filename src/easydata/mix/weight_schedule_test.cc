#include "easydata/mix/weight_schedule.h"

#include <gtest/gtest.h>

#include <limits>

namespace easydata::mix {
namespace {

WeightSchedule MakeSchedule(Interpolation interpolation) {
  return WeightSchedule::Make({"easy", "hard"}, {{50000, {0.1, 0.9}}, {0, {0.9, 0.1}}},
                              interpolation)
      .ValueOrDie();
}

TEST(WeightScheduleTest, HoldsBeforeAndAfterItsPoints) {
  for (auto kind : {Interpolation::kStep, Interpolation::kLinear, Interpolation::kCosine}) {
    EXPECT_EQ(MakeSchedule(kind).At(-5), (std::vector<double>{0.9, 0.1}));
    EXPECT_EQ(MakeSchedule(kind).At(0), (std::vector<double>{0.9, 0.1}));
    EXPECT_EQ(MakeSchedule(kind).At(50000), (std::vector<double>{0.1, 0.9}));
    EXPECT_EQ(MakeSchedule(kind).At(60000), (std::vector<double>{0.1, 0.9}));
  }
}

TEST(WeightScheduleTest, Interpolates) {
  EXPECT_EQ(MakeSchedule(Interpolation::kStep).At(49999), (std::vector<double>{0.9, 0.1}));
  EXPECT_NEAR(MakeSchedule(Interpolation::kLinear).At(2500)[0], 0.86, 1e-12);
  EXPECT_NEAR(MakeSchedule(Interpolation::kCosine).At(2500)[0], 0.8950753362380551, 1e-12);
}

TEST(WeightScheduleTest, RefusesBadPoints) {
  const auto step = Interpolation::kStep;
  EXPECT_FALSE(WeightSchedule::Make({"a"}, {}, step).ok());
  EXPECT_FALSE(WeightSchedule::Make({"a"}, {{0, {1, 2}}}, step).ok());
  EXPECT_FALSE(WeightSchedule::Make({"a"}, {{0, {1}}, {0, {1}}}, step).ok());
  EXPECT_FALSE(WeightSchedule::Make({"a"}, {{0, {0}}}, step).ok());
  const Status negative = WeightSchedule::Make({"a", "b"}, {{7, {2, -1}}}, step).status();
  EXPECT_NE(negative.message().find("weight schedule at step 7: the weight of \"b\" is negative"),
            std::string::npos)
      << negative;
  EXPECT_FALSE(CheckWeights({"a"}, {std::numeric_limits<double>::quiet_NaN()}, "weights").ok());
}

TEST(StepClockTest, D36CountsStepsOfTrainingWhereTheBatchIsKnown) {
  EXPECT_EQ(StepClock().Step(123, 456), 123);
  EXPECT_EQ((StepClock{{{0, 8}}, 0}.Step(127, 0)), 15);
  EXPECT_EQ((StepClock{{{0, 8}}, 2048}.Step(5, 8 * 2048 * 3 + 100)), 3);
}

TEST(StepClockTest, IntegratesOverARampUp) {
  // 10 steps of 2 rows, then 10 of 4, then 8 for ever.
  const StepClock clock{{{0, 2}, {10, 4}, {20, 8}}, 0};
  EXPECT_EQ(clock.Step(0, 0), 0);
  EXPECT_EQ(clock.Step(19, 0), 9);
  EXPECT_EQ(clock.Step(20, 0), 10);
  EXPECT_EQ(clock.Step(59, 0), 19);
  EXPECT_EQ(clock.Step(60, 0), 20);
  EXPECT_EQ(clock.Step(60 + 80, 0), 30);
}

}  // namespace
}  // namespace easydata::mix
