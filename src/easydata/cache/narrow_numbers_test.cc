#include "easydata/cache/narrow_numbers.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace easydata::cache {
namespace {

TEST(NarrowNumbersTest, EachInstructionSetGivesTheSame) {
  std::mt19937 random(7);
  for (int count = 0; count < 100; ++count) {
    for (const uint32_t most : {0xFFFFu, 0x1FFFFu, 0xFFFFFFFFu}) {
      std::vector<uint32_t> from(static_cast<size_t>(count));
      for (uint32_t& each : from) each = random() & most;
      std::vector<uint16_t> plain(from.size()), best(from.size());
      uint32_t bits = 0;
      for (const uint32_t each : from) bits |= each;
      EXPECT_EQ(NarrowNumbersPlain(from.data(), count, plain.data()), bits);
      EXPECT_EQ(BestNarrowNumbers()(from.data(), count, best.data()), bits);
      EXPECT_EQ(plain, best);
      for (size_t i = 0; i < from.size(); ++i) EXPECT_EQ(plain[i], from[i] & 0xFFFF);
    }
  }
}

}  // namespace
}  // namespace easydata::cache
