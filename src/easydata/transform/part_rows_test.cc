#include "easydata/transform/part_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

using testing::HasSubstr;

PartOptions PartOf(const std::string& part, std::vector<std::pair<std::string, double>> parts) {
  PartOptions options;
  options.parts.emplace();
  options.parts->values = std::move(parts);
  options.part = part;
  return options;
}

TEST(PartRowsTest, CountedPartsAreDisjointCompleteAndExact) {
  for (const int64_t rows : {1, 7, 1000, 5000}) {
    int64_t sum = 0;
    std::vector<int> times(static_cast<size_t>(rows));
    for (const char* name : {"a", "b", "c"}) {
      const CountedParts part(PartOf(name, {{"a", 0.5}, {"b", 0.3}, {"c", 0.2}}), rows);
      int64_t found = 0;
      for (int64_t row = 0; row < rows; ++row) {
        if (!part.Has(row)) continue;
        ++found;
        ++times[static_cast<size_t>(row)];
      }
      EXPECT_EQ(found, part.num_rows());
      sum += found;
    }
    EXPECT_EQ(sum, rows);
    EXPECT_THAT(times, testing::Each(1));
  }
  EXPECT_EQ(CountedParts(PartOf("b", {{"a", 0.98}, {"b", 0.02}}), 1000).num_rows(), 20);
}

TEST(PartRowsTest, RowsOfOneRowAreInItsPart) {
  Batch batch = TestRows().Ints("n", {0, 1, 2, 3, 4, 5}).Make();
  const auto shard = std::make_shared<const ShardRef>(ShardRef{"data", "a"});
  batch.addresses = Addresses();
  for (int32_t i = 0; i < 6; ++i) batch.addresses.Append(shard, i / 3, i % 3, 1);
  int64_t kept = 0;
  for (const char* name : {"a", "b"}) {
    const auto op = PartRows(PartOf(name, {{"a", 0.5}, {"b", 0.5}}), std::make_shared<RowPlaces>());
    const int64_t rows = op->Apply(batch).ValueOrDie().num_rows();
    EXPECT_EQ(rows % 3, 0);
    kept += rows;
  }
  EXPECT_EQ(kept, 6);
}

TEST(PartRowsTest, WrongOptionsAreRefused) {
  const auto error = [](const PartOptions& options) { return options.Validate().message(); };
  EXPECT_EQ(error(PartOf("a", {{"a", 1}})), "");
  EXPECT_THAT(error(PartOf("a", {{"a", 0.5}})), HasSubstr("make up 0.5"));
  EXPECT_THAT(error(PartOf("b", {{"a", 1}})), HasSubstr("none of parts"));
  EXPECT_THAT(error(PartOf("a", {{"a", 1}, {"b", 0}})), HasSubstr("a share is above 0"));
}

}  // namespace
}  // namespace easydata::transform
