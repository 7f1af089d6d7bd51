#include "easydata/files/range_memory.h"

#include <arrow/buffer.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace easydata::files {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;

TEST(RangeMemoryTest, IsUsedAgain) {
  auto first = TakeRangeMemory(8 * kMegabyte).ValueOrDie();
  const auto* const address = first->data();
  const auto slice = arrow::SliceBuffer(first, kMegabyte);
  first = nullptr;
  // The slice still holds it.
  EXPECT_NE(TakeRangeMemory(8 * kMegabyte).ValueOrDie()->data(), address);
}

TEST(RangeMemoryTest, SmallerRangesTakeWhatIsNotMuchLarger) {
  const auto* const address = TakeRangeMemory(6 * kMegabyte).ValueOrDie()->data();
  const auto smaller = TakeRangeMemory(5 * kMegabyte).ValueOrDie();
  EXPECT_EQ(smaller->data(), address);
  EXPECT_EQ(smaller->size(), 5 * kMegabyte);
  const auto small = TakeRangeMemory(1000).ValueOrDie();
  EXPECT_NE(small->data(), address);
  EXPECT_EQ(small->size(), 1000);
}

TEST(RangeMemoryTest, KeepsLittle) {
  {
    std::vector<std::shared_ptr<arrow::Buffer>> held;
    for (int i = 0; i < 8; ++i) held.push_back(TakeRangeMemory(8 * kMegabyte).ValueOrDie());
    held.push_back(TakeRangeMemory(2 * kMostIdleBytes).ValueOrDie());
  }
  EXPECT_GT(IdleRangeBytes(), 0);
  EXPECT_LE(IdleRangeBytes(), kMostIdleBytes);
}

}  // namespace
}  // namespace easydata::files
