#include "easydata/stores/listing_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace easydata::stores {
namespace {

using ::testing::HasSubstr;

TEST(ListingProgressTest, CountsEntriesAndPagesInARow) {
  ListingProgress progress("cannot list it");
  for (int i = 0; i < 5000; ++i) {
    EXPECT_TRUE(progress.Add(std::to_string(i), i % 900 == 0 ? 1 : 0).ok());
  }
  EXPECT_THAT(progress.Add("next", ListingProgress::kMostEntries).message(),
              HasSubstr("cannot list it: there are more than 10000000 entries"));
}

}  // namespace
}  // namespace easydata::stores
