#include "easydata/exec/time_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "easydata/exec/threads_for_tests.h"

namespace easydata::exec {
namespace {

TEST(TimeLimitTest, StopsWorkWhenTheTimeIsOver) {
  const std::atomic<bool> stopped = true;
  const StopScope outer(&stopped);
  const auto begin = std::chrono::steady_clock::now();
  {
    const TimeLimit limit(std::chrono::milliseconds(30));
    EXPECT_FALSE(StopScope::Stopped()) << "what was stopped before does not count";
    while (!StopScope::Stopped()) usleep(1000);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30));
  }
  EXPECT_TRUE(StopScope::Stopped()) << "it is over";
}

TEST(TimeLimitTest, EndsAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const TimeLimit limit(std::chrono::seconds(60));
    EXPECT_TRUE(AwaitThreadsNamed("easydata-limit", 1));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_TRUE(AwaitThreadsNamed("easydata-limit", 0));
  EXPECT_FALSE(StopScope::Stopped());
}

}  // namespace
}  // namespace easydata::exec
