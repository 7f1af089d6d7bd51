#include "tokenizers/postprocess/padding.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace easydata::tokenizers {
namespace {

using Ids = std::vector<int32_t>;

Result<std::optional<Padding>> PaddingFrom(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element component;
  EXPECT_EQ(parser.parse(json.data(), json.size()).get(component), simdjson::SUCCESS) << json;
  return MakePadding(component);
}

TEST(PaddingTest, ReadsAllFields) {
  const Padding fixed = **PaddingFrom(
      R"({"strategy":{"Fixed":6},"direction":"Left","pad_to_multiple_of":4,"pad_id":9,
          "pad_type_id":2,"pad_token":"[PAD]"})");
  EXPECT_EQ(fixed.fixed, 6);
  EXPECT_EQ(fixed.multiple_of, 4);
  EXPECT_TRUE(fixed.left);
  EXPECT_EQ(fixed.id, 9);
  const Padding longest = **PaddingFrom(
      R"({"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":null,"pad_id":9,
          "pad_type_id":2,"pad_token":"[PAD]"})");
  EXPECT_FALSE(longest.fixed.has_value());
  EXPECT_EQ(longest.multiple_of, 0);
  EXPECT_FALSE(longest.left);
  EXPECT_FALSE(PaddingFrom("null")->has_value());
}

TEST(PaddingTest, OddFilesAreForTheReference) {
  for (
      const std::string_view json : {
          R"("BatchLongest")",
          R"({"direction":"Right","pad_id":9,"pad_type_id":2,"pad_token":"x"})",
          R"({"strategy":"Longest","direction":"Right","pad_id":9,"pad_type_id":2,"pad_token":"x"})",
          R"({"strategy":{"Fixed":-1},"direction":"Right","pad_id":9,"pad_type_id":2,"pad_token":"x"})",
          R"({"strategy":"BatchLongest","pad_id":9,"pad_type_id":2,"pad_token":"x"})",
          R"({"strategy":"BatchLongest","direction":"Right","pad_id":9,"pad_token":"x"})",
          R"({"strategy":"BatchLongest","direction":"Right","pad_id":9,"pad_type_id":2})",
          R"({"strategy":"BatchLongest","direction":"Right","pad_type_id":2,"pad_token":"x"})",
      }) {
    EXPECT_TRUE(PaddingFrom(json).status().IsNotImplemented()) << json;
  }
}

TEST(PaddingTest, LengthsAreRoundedUp) {
  EXPECT_EQ(PaddedLength({}, 5), 5);
  EXPECT_EQ(PaddedLength({3, 0, false, 0}, 5), 3);
  EXPECT_EQ(PaddedLength({3, 4, false, 0}, 5), 4);
  const Padding multiples = {std::nullopt, 4, false, 0};
  EXPECT_EQ(PaddedLength(multiples, 5), 8);
  EXPECT_EQ(PaddedLength(multiples, 8), 8);
  EXPECT_EQ(PaddedLength(multiples, 0), 0);
}

constexpr Padding kRight = {std::nullopt, 0, false, 9};
constexpr Padding kLeft = {std::nullopt, 0, true, 9};
constexpr Padding kLeftEven = {std::nullopt, 2, true, 9};

Ids Pad(const Padding& padding, int64_t length, const Ids& text) {
  IdBuffer ids;
  ids.Append({7});
  ids.Append(text);
  PadIds(padding, length, 1, &ids);
  EXPECT_EQ(ids.data()[0], 7);
  return {ids.data() + 1, ids.data() + ids.size()};
}

TEST(PaddingTest, OneText) {
  EXPECT_EQ(Pad(kRight, 4, {1, 2}), (Ids{1, 2, 9, 9}));
  EXPECT_EQ(Pad(kLeft, 4, {1, 2}), (Ids{9, 9, 1, 2}));
  EXPECT_EQ(Pad(kRight, 2, {1, 2}), (Ids{1, 2}));
  EXPECT_EQ(Pad(kRight, 1, {1, 2}), (Ids{1, 2}));
  EXPECT_EQ(Pad(kRight, 100, {}), Ids(100, 9));
}

template <typename Builder>
std::shared_ptr<arrow::Array> Lists(const std::vector<std::optional<Ids>>& rows) {
  auto values = std::make_shared<arrow::Int32Builder>();
  Builder builder(arrow::default_memory_pool(), values);
  for (const auto& row : rows) {
    if (!row) {
      EXPECT_TRUE(builder.AppendNull().ok());
      continue;
    }
    EXPECT_TRUE(builder.Append().ok());
    EXPECT_TRUE(values->AppendValues(*row).ok());
  }
  return *builder.Finish();
}

TEST(PaddingTest, ListsOfABatch) {
  const std::vector<std::optional<Ids>> rows = {Ids{1}, std::nullopt, Ids{1, 2, 3}, Ids{}};
  const auto check = [](const std::shared_ptr<arrow::Array>& lists,
                        const std::shared_ptr<arrow::Array>& expected) {
    const auto padded = *PadLists(kLeftEven, lists);
    EXPECT_TRUE(padded->ValidateFull().ok());
    EXPECT_TRUE(padded->Equals(*expected)) << padded->ToString();
  };
  const std::vector<std::optional<Ids>> left = {Ids{9, 9, 9, 1}, std::nullopt, Ids{9, 1, 2, 3},
                                                Ids{9, 9, 9, 9}};
  check(Lists<arrow::ListBuilder>(rows), Lists<arrow::ListBuilder>(left));
  check(Lists<arrow::LargeListBuilder>(rows), Lists<arrow::LargeListBuilder>(left));
  check(Lists<arrow::ListBuilder>({Ids{8, 8, 8, 8, 8, 8}, rows[0], rows[1], rows[2], rows[3]})
            ->Slice(1),
        Lists<arrow::ListBuilder>(left));
  const auto even = Lists<arrow::ListBuilder>({Ids{1, 2}, Ids{3, 4}});
  EXPECT_EQ(*PadLists({}, even), even);  // nothing to do, nothing copied
  EXPECT_TRUE(PadLists({}, *arrow::MakeArrayOfNull(arrow::int32(), 1)).status().IsTypeError());
}

}  // namespace
}  // namespace easydata::tokenizers
