#include "tokenizers/id_lists.h"

#include <arrow/buffer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "easydata/exec/parallel_for.h"

namespace easydata::tokenizers {
namespace {

// Joins 0, 1, 2, ... in parts of these sizes that come in this order.
std::vector<int32_t> Join(const std::vector<size_t>& sizes, const std::vector<size_t>& order,
                          size_t num_expected, int num_threads) {
  const auto pool = std::make_shared<IdBufferPool>();
  IdJoiner joiner(sizes.size(), num_expected, pool.get());
  const Status status = exec::ParallelFor(order.size(), num_threads, [&](size_t i) {
    const size_t part = order[i];
    const size_t begin = std::accumulate(sizes.begin(), sizes.begin() + part, size_t{0});
    IdBuffer ids;
    for (size_t k = 0; k < sizes[part]; ++k) ids.Append(static_cast<int32_t>(begin + k));
    joiner.Add(part, std::move(ids));
    return Status::OK();
  });
  EXPECT_TRUE(status.ok()) << status;
  const auto joined = joiner.Finish().ValueOrDie();
  const auto* const data = reinterpret_cast<const int32_t*>(joined->data());
  return {data, data + joined->size() / 4};
}

TEST(IdJoinerTest, PartsMayComeInAnyOrderAndBeMoreThanExpected) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<size_t> sizes(random() % 12), order(sizes.size());
    for (size_t& size : sizes) size = random() % 4 == 0 ? 0 : random() % 300;
    std::iota(order.begin(), order.end(), size_t{0});
    if (round % 3 != 0) std::shuffle(order.begin(), order.end(), random);
    std::vector<int32_t> expected(std::accumulate(sizes.begin(), sizes.end(), size_t{0}));
    std::iota(expected.begin(), expected.end(), 0);
    const size_t num_expected = round % 2 == 0 ? expected.size() : random() % 200;
    ASSERT_EQ(Join(sizes, order, num_expected, 1 + round % 3), expected) << round;
  }
}

}  // namespace
}  // namespace easydata::tokenizers
