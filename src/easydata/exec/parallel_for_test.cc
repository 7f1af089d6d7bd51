#include "easydata/exec/parallel_for.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace easydata::exec {
namespace {

TEST(ParallelForTest, MakesEveryCallOnce) {
  for (const int num_threads : {0, 1, 2, 5}) {
    for (const size_t count : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      const Status status = ParallelFor(count, num_threads, [&](size_t i) {
        ++calls[i];
        return Status::OK();
      });
      ASSERT_TRUE(status.ok()) << status;
      for (const auto& number : calls) ASSERT_EQ(number, 1);
    }
  }
}

TEST(ParallelForTest, AnErrorKeepsWhatFollowsFromBeingMade) {
  std::atomic<int> calls = 0;
  const Status status = ParallelFor(1000, 1, [&](size_t i) {
    ++calls;
    return i == 3 ? Status::Invalid("call ", i) : Status::OK();
  });
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(status.message(), "call 3");
}

TEST(ParallelForTest, GivesTheErrorOfTheLowestNumber) {
  for (int round = 0; round < 20; ++round) {
    const Status status = ParallelFor(100, 4, [&](size_t i) {
      if (i == 5) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return i >= 5 ? Status::Invalid("call ", i) : Status::OK();
    });
    EXPECT_EQ(status.message(), "call 5");
  }
}

TEST(ParallelForTest, ExceptionsBecomeErrors) {  // B1
  for (const int num_threads : {1, 4}) {
    const Status memory =
        ParallelFor(8, num_threads, [](size_t) -> Status { throw std::bad_alloc(); });
    EXPECT_TRUE(memory.IsOutOfMemory()) << memory;
    const Status other = ParallelFor(8, num_threads, [](size_t i) -> Status {
      if (i == 2) throw std::runtime_error("two");
      return Status::OK();
    });
    EXPECT_TRUE(other.IsUnknownError()) << other;
    EXPECT_EQ(other.message(), "two");
  }
}

#if !defined(__SANITIZE_THREAD__)
TEST(ParallelForTest, ForksComeInBetween) {  // B3
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) {
      const Status status = ParallelFor(6, 3, [](size_t) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        return Status::OK();
      });
      EXPECT_TRUE(status.ok()) << status;
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child == 0) _exit(0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  }
  stop = true;
  busy.join();
}
#endif

TEST(ParallelForTest, OneThreadIsTheCaller) {
  const Status status = ParallelFor(3, 1, [caller = std::this_thread::get_id()](size_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return Status::OK();
  });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace easydata::exec
