#include "easydata/transform/filter_non_empty.h"

#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>

#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

using Texts = TestRows::Texts;

TEST(FilterNonEmptyTest, TypedNullAndEmptyTextGo) {
  const Batch in = TestRows().Text("a", {"x", "", {}, " "}).Ints("n", {0, 1, 2, 3}).Make();
  const Batch out = FilterNonEmpty({"a", "n"})->Apply(in).ValueOrDie();
  EXPECT_EQ(TextsOf(out, "a"), (Texts{"x", " "}));
  EXPECT_EQ(out.addresses.At(1).row, 13);
  ASSERT_EQ(out.dropped.size(), 1u);
  EXPECT_EQ(out.dropped[0].rows, 2);
  EXPECT_EQ(out.dropped[0].source, "data");
  EXPECT_EQ(out.dropped[0].reason, "FilterNonEmpty");
}

TEST(FilterNonEmptyTest, JsonFollowsPythonsValues) {
  const Texts values = {"null", "\"\"",  "[]",    "[ \n ]", {},    "0",
                        "{}",   "\" \"", "false", "[0]",    "[[]]"};
  const Batch out = FilterNonEmpty({"a"})->Apply(TestRows().Json("a", values).Make()).ValueOrDie();
  EXPECT_EQ(TextsOf(out, "a"), (Texts{"0", "{}", "\" \"", "false", "[0]", "[[]]"}));
}

TEST(FilterNonEmptyTest, EmptyListsGo) {
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  auto& values = static_cast<arrow::Int32Builder&>(*lists.value_builder());
  ASSERT_TRUE(lists.Append().ok());
  ASSERT_TRUE(lists.Append().ok());
  ASSERT_TRUE(values.Append(5).ok());
  ASSERT_TRUE(lists.AppendNull().ok());
  const auto array = lists.Finish().ValueOrDie();
  const Batch in = TestRows().Column(arrow::field("ids", array->type()), array).Make();
  const Batch out = FilterNonEmpty({"ids"})->Apply(in).ValueOrDie();
  ASSERT_EQ(out.num_rows(), 1);
  EXPECT_EQ(out.addresses.At(0).row, 11);
  // A slice has offsets of its own.
  EXPECT_EQ(FilterNonEmpty({"ids"})->Apply(in.Slice(1, 2)).ValueOrDie().num_rows(), 1);
}

TEST(FilterNonEmptyTest, EncodedTextIsLookedUp) {
  const Batch plain = TestRows().Text("a", {"x", "", {}, "x"}).Make();
  const auto encoded = arrow::compute::DictionaryEncode(plain.rows->column(0)).ValueOrDie();
  const auto array = encoded.make_array();
  const Batch in = TestRows().Column(arrow::field("a", array->type()), array).Make();
  const Batch out = FilterNonEmpty({"a"})->Apply(in).ValueOrDie();
  ASSERT_EQ(out.num_rows(), 2);
  EXPECT_EQ(out.addresses.At(1).row, 13);
}

TEST(FilterNonEmptyTest, MissingColumnIsEmptyEverywhere) {
  const Batch in = TestRows().Text("a", {"x", "y"}).Make();
  const Batch out = FilterNonEmpty({"a", "b"})->Apply(in).ValueOrDie();
  EXPECT_EQ(out.num_rows(), 0);
  EXPECT_EQ(out.dropped[0].rows, 2);
}

}  // namespace
}  // namespace easydata::transform
