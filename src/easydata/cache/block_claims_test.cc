#include "easydata/cache/block_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "easydata/cache/store_for_tests.h"
#include "easydata/exec/stop_scope.h"

namespace easydata::cache {
namespace {

using std::chrono::milliseconds;

using BlockClaimsTest = StoreTest;

TEST_F(BlockClaimsTest, WhoWantsABlockGetsItSoonAfterItWasPut) {
  auto one = Open(), other = Open();
  auto found = Find(one.get(), 1);
  ASSERT_NE(found.claim, nullptr);
  std::thread maker([&] {
    std::this_thread::sleep_for(milliseconds(100));
    found.claim->Put(BlockOf(1));
  });
  const auto begin = std::chrono::steady_clock::now();
  ExpectKept(other.get(), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1500)) << "before it is at rest";
  EXPECT_EQ(other->stats().waited, 1);
  maker.join();
  // A claim that was given back.
  found = Find(one.get(), 2);
  std::thread leaver([&] {
    std::this_thread::sleep_for(milliseconds(50));
    found.claim.reset();
  });
  EXPECT_FALSE(IsKept(other.get(), 2));
  leaver.join();
}

TEST_F(BlockClaimsTest, WaitingEndsWhenTheOtherIsTooSlowOrItIsStopped) {
  auto one = OpenWith({}), other = OpenWith({.patience = milliseconds(200)});
  const auto held = Find(one.get(), 1), second = Find(one.get(), 2);
  auto begin = std::chrono::steady_clock::now();
  Make(other.get(), 1);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(200));
  begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(IsKept(other.get(), 2));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(190)) << "it learns";
  ASSERT_TRUE(other->Flush().ok());
  ExpectKept(one.get(), 1);

  std::atomic<bool> stop = false;
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(50));
    stop = true;
  });
  const exec::StopScope scope(&stop);
  begin = std::chrono::steady_clock::now();
  auto third = OpenWith({});
  EXPECT_TRUE(third->Find(KeyOf(2), Schema()).status().IsCancelled());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));
  stopper.join();
}

TEST_F(BlockClaimsTest, ThreadsOfAProcessMakeEachBlockOnce) {
  auto store = Open();
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) {
        auto found = store->Find(KeyOf(i), Schema()).ValueOrDie();
        if (found.claim == nullptr) continue;
        ++made;
        std::this_thread::sleep_for(milliseconds(1));
        found.claim->Put(BlockOf(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 40);
  for (int i = 0; i < 40; ++i) ExpectKept(store.get(), i);
}

}  // namespace
}  // namespace easydata::cache
