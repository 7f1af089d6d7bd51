#include "easydata/base/hash.h"

#include <gtest/gtest.h>

namespace easydata {
namespace {

TEST(HashTest, IsXxh3) {
  // The value of the empty input that the XXH3 specification gives.
  EXPECT_EQ(Hash64(""), 0x2d06800538d394c2ULL);
  EXPECT_NE(Hash64("a"), Hash64("b"));
  EXPECT_NE(Hash64("a", 1), Hash64("a", 2));
}

TEST(HashTest, HexHasSixteenDigits) {
  EXPECT_EQ(ToHex(0), "0000000000000000");
  EXPECT_EQ(ToHex(0xdeadbeef01ULL), "000000deadbeef01");
}

}  // namespace
}  // namespace easydata
