#include "easydata/order/bucket_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "easydata/base/random.h"

namespace easydata::order {
namespace {

std::vector<int64_t> SomeLengths(int64_t rows) {
  std::vector<int64_t> lengths;
  for (int64_t i : WindowOrder(5, 0, 0, rows)) lengths.push_back(i / 3);
  return lengths;
}

TEST(BucketOrderTest, IsAPermutationWhoseBucketsDoNotOverlap) {
  for (int64_t rows : {0, 1, 4, 5, 39, 40, 43}) {
    const auto lengths = SomeLengths(rows);
    const auto order = BucketOrder(lengths, 5, 1, 2, 3);
    std::vector<int64_t> each = order;
    std::sort(each.begin(), each.end());
    std::vector<int64_t> all(rows);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(each, all);
    // Sorted by their shortest rows, each bucket begins where the one before ends.
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (int64_t b = 0; b + 5 <= rows; b += 5) {
      std::vector<int64_t> of_bucket;
      for (int64_t i = b; i < b + 5; ++i) of_bucket.push_back(lengths[order[i]]);
      const auto [least, most] = std::minmax_element(of_bucket.begin(), of_bucket.end());
      ranges.emplace_back(*least, *most);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
  }
}

TEST(BucketOrderTest, EachWindowHasItsOwn) {
  const std::vector<int64_t> same(60, 7);
  std::set<std::vector<int64_t>> orders;
  for (uint64_t seed : {0, 1}) {
    for (uint64_t epoch : {0, 1}) {
      for (uint64_t window : {0, 1}) orders.insert(BucketOrder(same, 4, seed, epoch, window));
    }
  }
  EXPECT_EQ(orders.size(), 8u);
  EXPECT_EQ(BucketOrder(same, 4, 1, 0, 1), BucketOrder(same, 4, 1, 0, 1));
}

TEST(BucketOrderTest, WhatIsLeftOverIsNotTheLongest) {
  // 41 rows in buckets of 10: the one that is left over is any.
  const auto lengths = SomeLengths(41);
  std::set<int64_t> left_over;
  for (uint64_t window = 0; window < 40; ++window) {
    left_over.insert(lengths[BucketOrder(lengths, 10, 0, 0, window).back()]);
  }
  EXPECT_GT(left_over.size(), 8u);
}

}  // namespace
}  // namespace easydata::order
