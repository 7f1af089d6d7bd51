#include "easydata/source/shared_listing.h"

#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "easydata/source/data_format.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

using ::testing::HasSubstr;

TEST(SharedListingTest, FilesAreReadBackAsTheyWere) {
  const TestFolder folder;
  auto files = Listed({folder.Write("a.bin", "12345678"), folder.Write("b.bin", "")});
  files[0].index =
      std::make_shared<const files::FileInfo>(Listed({folder.Write("a.idx", "1")}).front());
  const auto read =
      ListingFromJson(ListingToJson(files), files::IdentityKind::kTime, nullptr).ValueOrDie();
  EXPECT_EQ(read, files);
  ASSERT_NE(read[0].index, nullptr);
  EXPECT_EQ(*read[0].index, *files[0].index);
  EXPECT_EQ(read[1].index, nullptr);
  for (const char* other : {"", "{}", "[1]", "[[\"a\", 1, 2]]", "[[\"a\", 1, 2, \"\", [3]]]"}) {
    const auto refused = ListingFromJson(other, files::IdentityKind::kTime, nullptr);
    EXPECT_TRUE(refused.status().IsInvalid()) << other;
  }
}

TEST(SharedListingTest, ColumnsAndBlocksSpareTheLook) {
  const TestFolder folder;
  const auto files = Listed({folder.Write("a.csv", "x,y\n1,2\n"), folder.Write("b.csv", "x\n1\n")});
  const auto source = MakeSource("csv", files, nlohmann::json::object()).ValueOrDie();
  const SharedColumns columns = FindColumns(*source).ValueOrDie();
  int64_t shards = 0;
  for (const auto& [schema, count] : columns) shards += count;
  EXPECT_EQ(shards, 2);
  const auto other = MakeSource("csv", files, nlohmann::json::object()).ValueOrDie();
  ASSERT_TRUE(RememberColumns(columns, *other).ok());
  EXPECT_EQ(FindColumns(*other).ValueOrDie(), columns);

  const auto refused = [&](const SharedColumns& told) {
    const auto status = RememberColumns(told, *other);
    EXPECT_TRUE(status.IsInvalid()) << status.ToString();
    return status.message();
  };
  EXPECT_THAT(refused({{"", 1}}), HasSubstr("other files"));
  EXPECT_THAT(refused({{"", 3}}), HasSubstr("other files"));
  EXPECT_THAT(refused({{"", -1}, {"", 3}}), HasSubstr("other files"));
  EXPECT_THAT(refused({{"junk", 2}}), HasSubstr("no schema"));

  EXPECT_EQ(FindBlocks(*source).ValueOrDie(), SharedBlocks(2));  // only reading tells
  auto told = files;
  ASSERT_TRUE(RememberBlocks({std::vector<int64_t>{0, 5, 9}, std::nullopt}, &told).ok());
  EXPECT_EQ(*told[0].row_starts, (std::vector<int64_t>{0, 5, 9}));
  EXPECT_EQ(told[1].row_starts, nullptr);
  EXPECT_THAT(RememberBlocks({}, &told).message(), HasSubstr("other files"));
  EXPECT_THAT(RememberBlocks({std::vector<int64_t>{3}, std::nullopt}, &told).message(),
              HasSubstr("begin nowhere"));
}

}  // namespace
}  // namespace easydata::source
