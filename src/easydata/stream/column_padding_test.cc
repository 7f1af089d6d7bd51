#include "easydata/stream/column_padding.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <gtest/gtest.h>

namespace easydata {
namespace {

ColumnPaddingsPtr Of(ColumnPaddings paddings) {
  return std::make_shared<const ColumnPaddings>(std::move(paddings));
}

TEST(ColumnPaddingTest, TheFirstStreamThatKnowsAColumnSaysHowItIsPadded) {
  const auto first = Of({{"a", {.value = 1}}});
  const auto second = Of({{"a", {.value = 2}}, {"b", {.value = 3, .left = true}}});
  EXPECT_EQ(JoinedPaddings(nullptr, nullptr), nullptr);
  EXPECT_EQ(JoinedPaddings(first, nullptr), first);
  EXPECT_EQ(JoinedPaddings(nullptr, second), second);
  const auto both = JoinedPaddings(first, second);
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ(both->at("a").value, 1);
  EXPECT_EQ(both->at("b").value, 3);
}

TEST(ColumnPaddingTest, AFieldKeepsIt) {
  const auto plain = arrow::schema(
      {arrow::field("a", arrow::list(arrow::int32())),
       arrow::field("b", arrow::list(arrow::int32()), arrow::key_value_metadata({{"mine", "x"}}))});
  EXPECT_EQ(WithPaddings(plain, nullptr), plain);
  const auto schema =
      WithPaddings(plain, Of({{"b", {.value = -7, .left = true, .is_token = true}}}));
  EXPECT_FALSE(PaddingOf(*schema->field(0)).has_value());
  const auto padding = PaddingOf(*schema->field(1));
  ASSERT_TRUE(padding.has_value());
  EXPECT_EQ(padding->value, -7);
  EXPECT_TRUE(padding->left);
  EXPECT_TRUE(padding->is_token);
  EXPECT_EQ(schema->field(1)->metadata()->Get("mine").ValueOrDie(), "x");
  EXPECT_TRUE(schema->Equals(*plain, /*check_metadata=*/false));
}

TEST(ColumnPaddingTest, WhatCannotBeReadSaysNothing) {
  for (const char* text : {"", "{", "[]", "{}", R"({"value": "x"})", R"({"value": 1.5})"}) {
    const auto field =
        arrow::field("a", arrow::int32(), arrow::key_value_metadata({{"easydata.padding", text}}));
    EXPECT_FALSE(PaddingOf(*field).has_value()) << text;
  }
  const auto odd =
      arrow::field("a", arrow::int32(),
                   arrow::key_value_metadata({{"easydata.padding", R"({"value": 3, "left": 1})"}}));
  EXPECT_FALSE(PaddingOf(*odd).value().left);
}

}  // namespace
}  // namespace easydata
