#include "easydata/loader/bottleneck.h"

#include <gtest/gtest.h>

namespace easydata::loader {
namespace {

TEST(BottleneckTest, IsWhatWouldSpeedThingsUpMost) {
  // The thread that makes batches takes 10 s, 8 of them waiting for workers, who tokenize mostly.
  const std::map<std::string, double> wait = {
      {"loader", 6}, {"trainer", 0.5}, {"workers", 8}, {"pack", 1.5}, {"collate", 0.5}};
  std::map<std::string, double> busy = {{"read", 4}, {"tokenize", 12}, {"trainer", 2}};
  Bottleneck found = FindBottleneck(wait, busy, true);
  EXPECT_EQ(found.name, "tokenize");
  EXPECT_NEAR(found.share, 0.6, 1e-9);
  EXPECT_NEAR(found.speedup_if_free, 10 / 4.0, 1e-9);
  EXPECT_EQ(found.sentence,
            "\"tokenize\" sets the pace: it takes 60 % of the time; if it were free, batches would "
            "come 2.5 times as fast.");

  // The trainer works beside it: what it takes bounds the gain.
  busy["trainer"] = 8;
  found = FindBottleneck(wait, busy, true);
  EXPECT_EQ(found.name, "tokenize");
  EXPECT_NEAR(found.speedup_if_free, 10 / 8.0, 1e-9);

  busy["trainer"] = 40;
  found = FindBottleneck(wait, busy, true);
  EXPECT_EQ(found.name, "trainer");
  EXPECT_NEAR(found.share, 1, 1e-9);
  EXPECT_NEAR(found.speedup_if_free, 4, 1e-9);
  EXPECT_EQ(found.sentence,
            "The trainer sets the pace: what is done between two batches takes 100 % of the time; "
            "the loader could give batches 4.0 times as fast.");

  // Without prefetching one waits for the other.
  found = FindBottleneck(wait, busy, false);
  EXPECT_EQ(found.name, "trainer");
  EXPECT_NEAR(found.share, 0.8, 1e-9);
  EXPECT_NEAR(found.speedup_if_free, 5, 1e-9);
}

TEST(BottleneckTest, WaitingForOtherLoadersIsNoWorkOfTheTrainer) {
  const std::map<std::string, double> wait = {{"pack", 6}, {"collate", 1}};
  EXPECT_EQ(FindBottleneck(wait, {{"trainer", 8}}, false).name, "trainer");
  const std::map<std::string, double> busy = {{"trainer", 2}};
  Bottleneck found = FindBottleneck(wait, busy, false, 6);
  EXPECT_EQ(found.name, "pack");
  EXPECT_NEAR(found.share, 6 / 15.0, 1e-9);
  EXPECT_NEAR(found.speedup_if_free, 15 / 9.0, 1e-9);

  // The thread that makes batches goes on while others are waited for.
  found = FindBottleneck(wait, busy, true, 6);
  EXPECT_EQ(found.name, "trainer");
  EXPECT_NEAR(found.speedup_if_free, 8 / 7.0, 1e-9);
  found = FindBottleneck({{"pack", 9}}, busy, true, 6);
  EXPECT_EQ(found.name, "pack");
  EXPECT_NEAR(found.speedup_if_free, 9 / 8.0, 1e-9);
}

TEST(BottleneckTest, HasBounds) {
  EXPECT_EQ(FindBottleneck({}, {}, true).name, "");
  EXPECT_EQ(FindBottleneck({}, {}, true).speedup_if_free, 1);
  EXPECT_EQ(FindBottleneck({{"pack", 3}}, {{"trainer", 0}}, true).speedup_if_free, 1000);
  EXPECT_EQ(FindBottleneck({{"workers", 3}}, {}, true).name, "workers");
}

}  // namespace
}  // namespace easydata::loader
