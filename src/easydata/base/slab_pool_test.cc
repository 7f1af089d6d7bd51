#include "easydata/base/slab_pool.h"

#include <arrow/buffer.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace easydata {
namespace {

TEST(SlabPoolTest, GivesABufferAgainOnceItIsDropped) {
  SlabPool pool;
  auto first = pool.Allocate(4096).ValueOrDie();
  const uint8_t* address = first->data();
  auto second = pool.Allocate(4096).ValueOrDie();
  EXPECT_NE(second->data(), address);
  auto slice = arrow::SliceBuffer(first, 64, 64);
  first.reset();
  EXPECT_NE(pool.Allocate(4096).ValueOrDie()->data(), address) << "a slice still uses it";
  slice.reset();
  EXPECT_EQ(pool.Allocate(4096).ValueOrDie()->data(), address);
}

// Sanitizers end the process at such a size.
#ifndef EASYDATA_SANITIZED
TEST(SlabPoolTest, SaysThatThereIsNoMemory) {
  SlabPool pool;
  EXPECT_TRUE(pool.Allocate(int64_t{1} << 60).status().IsOutOfMemory());
}
#endif

TEST(SlabPoolTest, BuffersOutliveThePoolAndComeBackFromAnyThread) {
  std::vector<std::thread> threads;
  {
    SlabPool pool(2);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&pool] {
        for (int i = 0; i < 1000; ++i) {
          auto buffer = pool.Allocate(1024 << (i % 3)).ValueOrDie();
          std::memset(buffer->mutable_data(), i, buffer->size());
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
  std::shared_ptr<arrow::Buffer> survivor;
  {
    SlabPool pool;
    survivor = pool.Allocate(100).ValueOrDie();
  }
  std::memset(survivor->mutable_data(), 1, 100);
}

}  // namespace
}  // namespace easydata
