#include "easydata/exec/ordered_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <new>
#include <random>
#include <stdexcept>
#include <vector>

namespace easydata::exec {
namespace {

OrderedMap<int, int>::Pull CountTo(int end) {
  auto next = std::make_shared<int>(0);
  return [=]() -> Result<std::optional<int>> {
    if (*next == end) return std::nullopt;
    return (*next)++;
  };
}

std::vector<int> Collect(OrderedMap<int, int>* map, Status* status) {
  std::vector<int> out;
  for (;;) {
    auto next = map->Next();
    if (!next.ok()) {
      *status = next.status();
      return out;
    }
    if (!next->has_value()) return out;
    out.push_back(**next);
  }
}

TEST(OrderedMapTest, KeepsTheOrderWhateverTheThreadsAndDelays) {
  for (int threads : {1, 2, 4}) {
    auto pool = std::make_shared<ThreadPool>(threads);
    OrderedMap<int, int> map(pool, 8, CountTo(200), [](int i) -> Result<int> {
      usleep((i * 7919) % 300);
      return i * i;
    });
    Status status;
    std::vector<int> out = Collect(&map, &status);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(out.size(), 200u);
    for (int i = 0; i < 200; ++i) EXPECT_EQ(out[i], i * i);
  }
}

TEST(OrderedMapTest, FirstErrorInOrderComesAfterAllBeforeItAndStays) {
  auto pool = std::make_shared<ThreadPool>(4);
  OrderedMap<int, int> map(pool, 16, CountTo(100), [](int i) -> Result<int> {
    if (i == 5) {
      usleep(20000);  // later errors are found first
      return Status::Invalid("item ", i);
    }
    if (i > 5) return Status::IOError("item ", i);
    return i;
  });
  Status status;
  EXPECT_EQ(Collect(&map, &status), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(status.IsInvalid()) << status;
  EXPECT_EQ(map.Next().status().ToString(), status.ToString());
}

TEST(OrderedMapTest, PullErrorComesAfterTheItemsPulledBefore) {
  auto pool = std::make_shared<ThreadPool>(2);
  int next = 0;
  OrderedMap<int, int> map(
      pool, 4,
      [&]() -> Result<std::optional<int>> {
        if (next == 3) return Status::IOError("gone");
        return next++;
      },
      [](int i) -> Result<int> { return i; });
  Status status;
  EXPECT_EQ(Collect(&map, &status), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(status.IsIOError());
}

TEST(OrderedMapTest, ExceptionsAreErrorsInTheirTurn) {  // B1
  auto pool = std::make_shared<ThreadPool>(2);
  OrderedMap<int, int> of_work(pool, 4, CountTo(10), [](int i) -> Result<int> {
    if (i == 3) throw std::bad_alloc();
    return i;
  });
  Status status;
  EXPECT_EQ(Collect(&of_work, &status), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(status.IsOutOfMemory()) << status;
  EXPECT_EQ(of_work.Next().status(), status);

  int next = 0;
  OrderedMap<int, int> of_pull(
      pool, 4,
      [&]() -> Result<std::optional<int>> {
        if (next == 3) throw std::runtime_error("pulled too far");
        return next++;
      },
      [](int i) -> Result<int> { return i; });
  EXPECT_EQ(Collect(&of_pull, &status), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(status.IsUnknownError()) << status;
  EXPECT_EQ(status.message(), "pulled too far");
}

TEST(OrderedMapTest, CancelWakesABlockedNext) {
  auto pool = std::make_shared<ThreadPool>(1);
  std::promise<void> release;
  auto released = release.get_future().share();
  OrderedMap<int, int> map(pool, 2, CountTo(10), [released](int i) -> Result<int> {
    released.wait();
    return i;
  });
  std::thread canceller([&] {
    usleep(20000);
    map.Cancel();
    usleep(20000);
    release.set_value();
  });
  EXPECT_TRUE(map.Next().status().IsCancelled());
  canceller.join();
}

TEST(OrderedMapTest, WorkThatTakesLongSeesThatItIsNotWanted) {
  EXPECT_FALSE(StopScope::Stopped()) << "no work of a map runs here";
  auto pool = std::make_shared<ThreadPool>(1);
  std::promise<void> started;
  auto map =
      std::make_unique<OrderedMap<int, int>>(pool, 1, CountTo(1), [&started](int i) -> Result<int> {
        started.set_value();
        while (!StopScope::Stopped()) usleep(1000);
        return Status::Cancelled("closed");
      });
  std::thread canceller([&] {
    started.get_future().wait();
    map->Cancel();
  });
  EXPECT_TRUE(map->Next().status().IsCancelled());
  canceller.join();
  map.reset();  // waits for the work
  std::promise<bool> after;
  pool->Submit([&after] { after.set_value(StopScope::Stopped()); });
  EXPECT_FALSE(after.get_future().get()) << "the next work of the thread is another's";
}

TEST(OrderedMapTest, NeverPullsFurtherAheadThanAllowed) {
  auto pool = std::make_shared<ThreadPool>(4);
  int pulled = 0;
  OrderedMap<int, int> map(
      pool, 3, [&]() -> Result<std::optional<int>> { return pulled++; },
      [](int i) -> Result<int> { return i; });
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(map.Next().ok());
    EXPECT_LE(pulled, i + 3);
  }
}

}  // namespace
}  // namespace easydata::exec
