#include "easydata/exec/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace easydata {
namespace {

TEST(ParallelForTest, MakesEveryCallOnce) {
  for (const int num_threads : {0, 1, 2, 5}) {
    for (const size_t count : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      ParallelFor(count, num_threads, [&](size_t i) {
        ++calls[i];
        return true;
      });
      for (const auto& number : calls) ASSERT_EQ(number, 1);
    }
  }
}

TEST(ParallelForTest, StopsAtFalse) {
  std::atomic<int> calls = 0;
  ParallelFor(1000, 1, [&](size_t i) {
    ++calls;
    return i != 3;
  });
  EXPECT_EQ(calls, 4);
}

TEST(ParallelForTest, OneThreadIsTheCaller) {
  ParallelFor(3, 1, [caller = std::this_thread::get_id()](size_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return true;
  });
}

}  // namespace
}  // namespace easydata
