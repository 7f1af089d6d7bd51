#include "easydata/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace easydata {
namespace {

// Expected values printed by NumPy 2.4; test_random.py compares many more with the NumPy at hand.
TEST(Pcg64Test, DrawsNumPysNumbers) {
  Pcg64 zero({0});
  EXPECT_EQ(zero.Next64(), 0xa30febcfd9c2825fULL);
  EXPECT_EQ(zero.Next64(), 0x4510bdf882d9d721ULL);
  EXPECT_EQ(zero.Next64(), 0x0a7d3da94ecde8b8ULL);
  Pcg64 large({(1ULL << 40) + 5});
  EXPECT_EQ(large.Next64(), 0x01369aef039fedebULL);
  Pcg64 halves({0});
  EXPECT_EQ(halves.Next32(), 0xd9c2825fU);
  EXPECT_EQ(halves.Next32(), 0xa30febcfU);
}

TEST(Pcg64Test, ShufflesListsAsNumPyDoes) {
  std::vector<int> list(10);
  std::iota(list.begin(), list.end(), 0);
  Pcg64({42}).ShuffleList(&list);
  EXPECT_EQ(list, (std::vector<int>{5, 6, 0, 7, 3, 2, 4, 9, 1, 8}));
  EXPECT_EQ(WindowOrder(1, 2, 3, 12), (std::vector<int64_t>{2, 1, 10, 11, 7, 5, 6, 4, 3, 9, 8, 0}));
  EXPECT_EQ(WindowOrder(7, 1ULL << 33, 9, 12),
            (std::vector<int64_t>{10, 7, 11, 1, 2, 9, 4, 8, 3, 0, 5, 6}));
}

TEST(WindowOrderTest, IsAPermutationOfAnySize) {
  for (int64_t size : {0, 1, 2, 3, 1000, 4096, 65537}) {
    std::vector<int64_t> order = WindowOrder(3, 1, 2, size);
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(order[i], i);
  }
}

TEST(WindowOrderTest, DiffersPerSeedEpochAndWindow) {
  const auto order = WindowOrder(1, 2, 3, 100);
  EXPECT_NE(order, WindowOrder(2, 2, 3, 100));
  EXPECT_NE(order, WindowOrder(1, 3, 3, 100));
  EXPECT_NE(order, WindowOrder(1, 2, 4, 100));
}

}  // namespace
}  // namespace easydata
