#include "easydata/stream/address.h"

#include <gtest/gtest.h>

namespace easydata {
namespace {

auto Shard(const char* name) { return std::make_shared<const ShardRef>(ShardRef{"s", name}); }

TEST(AddressesTest, JoinsRunsThatFollowEachOther) {
  auto a = Shard("a"), b = Shard("b");
  Addresses addresses(a, 10, 5);
  addresses.Append(a, 15, -1, 2);
  EXPECT_EQ(addresses.runs().size(), 1u);
  addresses.Append(a, 18, -1, 1);
  addresses.Append(b, 0, -1, 3);
  EXPECT_EQ(addresses.runs().size(), 3u);
  ASSERT_EQ(addresses.size(), 11);
  EXPECT_EQ(addresses.At(6).row, 16);
  EXPECT_EQ(addresses.At(7).row, 18);
  EXPECT_EQ(addresses.At(8).shard, b);
  EXPECT_EQ(addresses.At(10).row, 2);
}

TEST(AddressesTest, SliceAndTakeKeepEachRowsAddress) {
  auto a = Shard("a"), b = Shard("b");
  Addresses addresses(a, 0, 4);
  addresses.Append(b, 7, 0, 1);
  addresses.Append(b, 7, 1, 1);
  for (int64_t offset = 0; offset <= 6; ++offset) {
    for (int64_t length = 0; offset + length <= 6; ++length) {
      Addresses slice = addresses.Slice(offset, length);
      ASSERT_EQ(slice.size(), length);
      for (int64_t i = 0; i < length; ++i) {
        EXPECT_EQ(slice.At(i).ToString(), addresses.At(offset + i).ToString());
      }
    }
  }
  Addresses taken = addresses.Take({5, 0, 4});
  EXPECT_EQ(taken.At(0).ToString(), "sources[\"s\"] b row 7 (part 1)");
  EXPECT_EQ(taken.At(1).ToString(), "sources[\"s\"] a row 0");
}

TEST(AddressesTest, ShowsNamesOfShardsEscaped) {  // X17
  const Addresses addresses(Shard("s3://b/a\n\x1b[2J\xff.jsonl"), 7, 1);
  EXPECT_EQ(addresses.At(0).ToString(), "sources[\"s\"] s3://b/a\\n\\x1b[2J\\xff.jsonl row 7");
}

TEST(AddressesTest, ShiftMovesEveryRow) {
  Addresses addresses(Shard("a"), 0, 4);
  addresses.ShiftRows(100);
  EXPECT_EQ(addresses.At(3).row, 103);
}

}  // namespace
}  // namespace easydata
