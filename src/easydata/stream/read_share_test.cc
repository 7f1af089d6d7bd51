#include <gtest/gtest.h>

#include "easydata/stream/stage.h"

namespace easydata {
namespace {

TEST(ReadShareTest, IsKnownWhereThereIsAWhole) {
  EXPECT_EQ(ReadShare().share(), std::nullopt);
  EXPECT_EQ(ReadShare::Unknown().share(), std::nullopt);
  EXPECT_EQ((ReadShare{25, 100}.share()), 0.25);
  EXPECT_EQ((ReadShare{120, 100}.share()), 1.0);
}

TEST(ReadShareTest, AddsUpOverWhatIsReadSideBySide) {
  ReadShare sum;
  sum.Add({25, 100});
  sum.Add({75, 100});
  EXPECT_EQ(sum.share(), 0.5);
  EXPECT_TRUE(sum.in_bytes);
  sum.Add({0, 200, /*in_bytes=*/false});
  EXPECT_EQ(sum.share(), 0.25);
  EXPECT_FALSE(sum.in_bytes);
  sum.Add(ReadShare::Unknown());
  EXPECT_EQ(sum.share(), std::nullopt);
}

TEST(ReadShareTest, OfAWindowIsWhatIsOutOfIt) {
  const ReadShare before = {20, 100};
  const ReadShare now = {60, 100};
  EXPECT_EQ(now.Within(before, 0, 8).share(), 0.2);
  EXPECT_EQ(now.Within(before, 4, 8).share(), 0.4);
  EXPECT_EQ(now.Within(before, 8, 8).share(), 0.6);
  // Nobody knows where a restored stage stands before its first rows.
  EXPECT_EQ(now.Within(ReadShare::Unknown(), 4, 8).share(), 0.6);
}

TEST(ReadShareTest, OfTheSameWhole) {
  const ReadShare whole = {0, 200};
  EXPECT_EQ(whole.Of(0.5).done, 100);
  EXPECT_EQ(whole.Of(std::nullopt).share(), std::nullopt);
}

}  // namespace
}  // namespace easydata
