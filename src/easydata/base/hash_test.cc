#include "easydata/base/hash.h"

#include <gtest/gtest.h>

#include <string>

#include "easydata/base/long_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace easydata {
namespace {

TEST(HashTest, IsXxh3) {
  // The value of the empty input that the XXH3 specification gives.
  EXPECT_EQ(Hash64(""), 0x2d06800538d394c2ULL);
  EXPECT_NE(Hash64("a"), Hash64("b"));
  EXPECT_NE(Hash64("a", 1), Hash64("a", 2));
}

TEST(HashTest, IsTheSameFromWiderRegisters) {
  std::string bytes(5000, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (size_t size : {0, 1, 16, 17, 128, 129, 239, 240, 241, 255, 256, 1023, 1024, 1025, 4999}) {
    for (uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      const uint64_t expected = XXH3_64bits_withSeed(bytes.data() + 1, size, seed);
      EXPECT_EQ(Hash64({bytes.data() + 1, size}, seed), expected) << size;
#if defined(__x86_64__) && defined(__GNUC__)
      if (__builtin_cpu_supports("avx2")) {
        EXPECT_EQ(LongHashAvx2(bytes.data() + 1, size, seed), expected) << size;
      }
      if (__builtin_cpu_supports("avx512f")) {
        EXPECT_EQ(LongHashAvx512(bytes.data() + 1, size, seed), expected) << size;
      }
#endif
    }
  }
}

TEST(HashTest, HexHasSixteenDigits) {
  EXPECT_EQ(ToHex(0), "0000000000000000");
  EXPECT_EQ(ToHex(0xdeadbeef01ULL), "000000deadbeef01");
}

}  // namespace
}  // namespace easydata
