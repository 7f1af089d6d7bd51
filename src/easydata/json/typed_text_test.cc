#include "easydata/json/typed_text.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "easydata/json/json_text.h"

namespace easydata::json {
namespace {

using testing::ElementsAre;

std::shared_ptr<arrow::DataType> RowType() {
  return arrow::struct_({arrow::field("text \"é\"", arrow::utf8()),
                         arrow::field("n", arrow::int64()), arrow::field("x", arrow::float64()),
                         arrow::field("b", arrow::boolean())});
}

std::shared_ptr<arrow::Array> Rows() {
  return arrow::json::ArrayFromJSONString(
             RowType(), R"([["a\nb", -1, 0.5, true], ["é", 9223372036854775807, 1e5, false],
                            ["", 0, 1e16, true], ["\\", 7, -0.0, false]])")
      .ValueOrDie();
}

std::vector<std::string> TextsOf(const arrow::StringArray& texts) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < texts.length(); ++i) out.push_back(texts.GetString(i));
  return out;
}

TEST(TypedTextTest, IsWrittenAsPythonDoes) {
  const auto texts = WriteTypedText(Rows()).ValueOrDie();
  EXPECT_TRUE(texts->ValidateFull().ok());
  EXPECT_THAT(TextsOf(*texts),
              ElementsAre(R"({"text \"é\"":"a\nb","n":-1,"x":0.5,"b":true})",
                          R"({"text \"é\"":"é","n":9223372036854775807,"x":100000.0,"b":false})",
                          R"({"text \"é\"":"","n":0,"x":1e+16,"b":true})",
                          R"({"text \"é\"":"\\","n":7,"x":-0.0,"b":false})"));
  const auto numbers = arrow::json::ArrayFromJSONString(arrow::float64(), "[1, 1e22]");
  EXPECT_THAT(TextsOf(*WriteTypedText(numbers.ValueOrDie()).ValueOrDie()),
              ElementsAre("1.0", "1e+22"));
}

TEST(TypedTextTest, SlicesHaveTheirValues) {
  const auto rows = Rows();
  const auto texts = WriteTypedText(rows).ValueOrDie();
  EXPECT_TRUE(TypedValuesOf(*texts)->Equals(rows));
  const auto slice = std::static_pointer_cast<arrow::StringArray>(texts->Slice(1, 2)->Slice(1));
  EXPECT_TRUE(TypedValuesOf(*slice)->Equals(rows->Slice(2, 1)));
  // So have the texts of a slice of values.
  const auto part = WriteTypedText(rows->Slice(2, 2)).ValueOrDie();
  EXPECT_EQ(part->GetString(1), texts->GetString(3));
  EXPECT_TRUE(TypedValuesOf(*part)->Equals(rows->Slice(2, 2)));
}

TEST(TypedTextTest, WhatIsCopiedOrCutHasNone) {
  const auto texts = WriteTypedText(Rows()).ValueOrDie();
  const auto copy = arrow::Concatenate({texts, texts->Slice(0, 1)}).ValueOrDie();
  EXPECT_EQ(TypedValuesOf(static_cast<const arrow::StringArray&>(*copy)), nullptr);
  EXPECT_EQ(TypedValuesOf(arrow::StringArray(
                1, arrow::Buffer::FromVector(std::vector<int32_t>{0, 3}), texts->value_data())),
            nullptr);
  const std::shared_ptr<arrow::Buffer> nulls = arrow::AllocateEmptyBitmap(4).ValueOrDie();
  EXPECT_EQ(
      TypedValuesOf(arrow::StringArray(4, texts->value_offsets(), texts->value_data(), nulls)),
      nullptr);
}

TEST(TypedTextTest, WhoKeepsRowsCanLeaveTheValues) {
  const auto texts = WriteTypedText(Rows()).ValueOrDie();
  const auto rows =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("a", arrow::utf8())}), 4, {texts});
  const auto alone = WithoutTypedValues(rows->Slice(1, 2));
  EXPECT_TRUE(alone->Equals(*rows->Slice(1, 2)));
  EXPECT_EQ(TypedValuesOf(static_cast<const arrow::StringArray&>(*alone->column(0))), nullptr);
  EXPECT_EQ(WithoutTypedValues(alone), alone);
}

TEST(TypedTextTest, OthersAreRefused) {
  for (const auto& type : {arrow::int32(), arrow::list(arrow::int64()), arrow::null()}) {
    const auto array = arrow::json::ArrayFromJSONString(type, "[null]").ValueOrDie();
    EXPECT_FALSE(WriteTypedText(array).ok());
  }
  EXPECT_FALSE(
      WriteTypedText(arrow::json::ArrayFromJSONString(arrow::int64(), "[1, null]").ValueOrDie())
          .ok());
}

TEST(TypedTextTest, NumbersReadBackAsTheyWere) {
  for (const double number :
       {0.1, 1.0 / 3, 123456789.125, 1e-5, 1e-4, 5e-324, 1.7976931348623157e308, 9007199254740993.0,
        999999999999999.9, 1e15, 1e16, -2.5}) {
    std::string text;
    AppendFloatRepr(number, &text);
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), number) << text;
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace easydata::json
