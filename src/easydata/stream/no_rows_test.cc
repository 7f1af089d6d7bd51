#include "easydata/stream/no_rows.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

namespace easydata {
namespace {

TEST(NoRowsTest, HasAnyType) {
  const auto pair = arrow::struct_({arrow::field("a", arrow::int32(), /*nullable=*/false)});
  const auto schema = arrow::schema({
      arrow::field("n", arrow::int64(), /*nullable=*/false),
      arrow::field("text", arrow::large_utf8()),
      arrow::field("pairs", arrow::dictionary(arrow::int32(), pair)),
      arrow::field("lists", arrow::list(arrow::dictionary(arrow::int8(), pair))),
      arrow::field("map", arrow::map(arrow::utf8(), pair)),
      arrow::field("fixed", arrow::fixed_size_list(arrow::int32(), 3)),
      arrow::field("either", arrow::dense_union({arrow::field("b", pair)})),
      arrow::field("nothing", arrow::null()),
  });
  const auto rows = NoRows(schema).ValueOrDie();
  EXPECT_EQ(rows->num_rows(), 0);
  EXPECT_TRUE(rows->schema()->Equals(*schema));
  EXPECT_TRUE(rows->ValidateFull().ok()) << rows->ValidateFull();
}

}  // namespace
}  // namespace easydata
