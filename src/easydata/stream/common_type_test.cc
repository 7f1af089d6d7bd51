#include "easydata/stream/common_type.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace easydata {
namespace {

using arrow::json::ArrayFromJSONString;
using testing::HasSubstr;
using TypePtr = std::shared_ptr<arrow::DataType>;

std::shared_ptr<arrow::Array> Make(const TypePtr& type, const std::string& json) {
  return ArrayFromJSONString(type, json).ValueOrDie();
}

TypePtr Struct(std::vector<std::pair<std::string, TypePtr>> fields) {
  arrow::FieldVector out;
  for (auto& [name, type] : fields) out.push_back(arrow::field(name, type));
  return arrow::struct_(std::move(out));
}

TEST(CommonTypeTest, HoldsTheValuesOfBoth) {
  const auto dictionary = arrow::dictionary(arrow::int32(), arrow::utf8());
  const std::vector<std::tuple<TypePtr, TypePtr, TypePtr>> cases = {
      {arrow::utf8(), arrow::large_utf8(), arrow::large_utf8()},
      {arrow::utf8(), arrow::utf8_view(), arrow::utf8()},
      {arrow::utf8_view(), arrow::large_utf8(), arrow::large_utf8()},
      {arrow::utf8(), dictionary, arrow::utf8()},
      {dictionary, dictionary, dictionary},
      {arrow::null(), dictionary, dictionary},
      {arrow::binary(), arrow::large_binary(), arrow::large_binary()},
      {arrow::int8(), arrow::int64(), arrow::int64()},
      {arrow::uint8(), arrow::int16(), arrow::int16()},
      {arrow::uint16(), arrow::int16(), arrow::int64()},
      {arrow::uint64(), arrow::int64(), nullptr},
      {arrow::float32(), arrow::float64(), arrow::float64()},
      {arrow::int64(), arrow::float64(), nullptr},
      {arrow::int64(), arrow::utf8(), nullptr},
      {arrow::boolean(), arrow::int8(), nullptr},
      {arrow::list(arrow::int32()), arrow::large_list(arrow::int64()),
       arrow::large_list(arrow::int64())},
      {arrow::fixed_size_list(arrow::int32(), 2), arrow::fixed_size_list(arrow::int32(), 3),
       arrow::list(arrow::int32())},
      {Struct({{"a", arrow::int32()}}), Struct({{"b", arrow::utf8()}, {"a", arrow::int64()}}),
       Struct({{"a", arrow::int64()}, {"b", arrow::utf8()}})},
      {Struct({{"a", arrow::int32()}}), Struct({{"a", arrow::utf8()}}), nullptr},
  };
  for (const auto& [a, b, wanted] : cases) {
    const TypePtr got = CommonType(a, b);
    SCOPED_TRACE(a->ToString() + " and " + b->ToString());
    ASSERT_EQ(got == nullptr, wanted == nullptr) << (got == nullptr ? "null" : got->ToString());
    if (wanted != nullptr) {
      EXPECT_TRUE(got->Equals(*wanted)) << got->ToString();
    }
    const TypePtr other = CommonType(b, a);
    ASSERT_EQ(other == nullptr, wanted == nullptr);
  }
}

TEST(CastValuesTest, KeepsEveryValueOfSlicesToo) {
  const auto narrow = arrow::list(Struct({{"role", arrow::utf8()}, {"n", arrow::int8()}}));
  const auto wide = arrow::large_list(
      Struct({{"n", arrow::int64()}, {"name", arrow::utf8()}, {"role", arrow::large_utf8()}}));
  const auto values = Make(narrow, R"([[{"role": "a", "n": 1}, null], null, [],
                                       [{"role": null, "n": 2}], [{"role": "b", "n": null}]])");
  const auto wanted = Make(wide, R"([[{"role": "a", "n": 1, "name": null}, null], null, [],
                                     [{"role": null, "n": 2, "name": null}],
                                     [{"role": "b", "n": null, "name": null}]])");
  for (int64_t begin = 0; begin <= values->length(); ++begin) {
    for (int64_t rows = 0; begin + rows <= values->length(); ++rows) {
      const auto got = CastValues(values->Slice(begin, rows), wide).ValueOrDie();
      ASSERT_TRUE(got->ValidateFull().ok());
      EXPECT_TRUE(got->Equals(*wanted->Slice(begin, rows))) << got->ToString();
    }
  }
}

TEST(CastValuesTest, SlicesOfStructsKeepTheirNulls) {
  const auto from = Struct({{"a", arrow::int32()}});
  const auto to = Struct({{"a", arrow::int64()}, {"b", arrow::utf8()}});
  const auto values = Make(from, R"([{"a": 1}, null, {"a": null}, null])");
  const auto wanted = Make(to, R"([{"a": 1, "b": null}, null, {"a": null, "b": null}, null])");
  for (int64_t begin = 0; begin < 4; ++begin) {
    const auto got = CastValues(values->Slice(begin), to).ValueOrDie();
    EXPECT_TRUE(got->Equals(*wanted->Slice(begin))) << got->ToString();
  }
}

TEST(CastValuesTest, LosesNothing) {
  EXPECT_FALSE(CastValues(Make(arrow::int64(), "[300]"), arrow::int8()).ok());
  EXPECT_FALSE(CastValues(Make(arrow::float64(), "[1.5]"), arrow::int64()).ok());
  EXPECT_FALSE(CastValues(Make(arrow::int64(), "[9007199254740993]"), arrow::float64()).ok());
  const auto lost =
      CastValues(Make(Struct({{"a", arrow::int32()}, {"b", arrow::int32()}}), R"([{"a": 1}])"),
                 Struct({{"a", arrow::int32()}}));
  EXPECT_TRUE(lost.status().IsTypeError());
  EXPECT_THAT(lost.status().message(), HasSubstr("the field \"b\""));
}

}  // namespace
}  // namespace easydata
