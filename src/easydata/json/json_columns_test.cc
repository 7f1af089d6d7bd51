#include "easydata/json/json_columns.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/base/recorded_values.h"
#include "easydata/json/json_column.h"
#include "easydata/json/json_shape.h"
#include "easydata/json/json_text.h"

namespace easydata::json {
namespace {

using ::testing::HasSubstr;

/// The type of a column of these values, "list<item: int64>"; or the error.
std::string TypeOf(const std::vector<std::string>& values, const std::string& column = "c") {
  JsonShape shape;
  for (const std::string& value : values) {
    const Status status = shape.Observe(value, column);
    if (!status.ok()) return status.message();
  }
  return shape.type(column)->ToString();
}

TEST(JsonShapeTest, LearnsOneTypeOfAllValues) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "null"},
      {{"null"}, "null"},
      {{"true", "null"}, "bool"},
      {{"1", "-2"}, "int64"},
      {{"1", "2.5"}, "double"},
      {{"1", "NaN", "-Infinity"}, "double"},
      {{"1", "18446744073709551615"}, "uint64"},
      {{"-1", "18446744073709551615"}, "int64"},
      {{"\"a\"", "\"2026-01-01\""}, "string"},
      {{"[]"}, "list<item: null>"},
      {{"[]", "[1]", "[2.5, null]"}, "list<item: double>"},
      {{"[[1], []]"}, "list<item: list<item: int64>>"},
      {{"{}"}, "struct<>"},
      {{"{\"b\": 1}", "{\"a\": \"x\", \"b\": null}"}, "struct<b: int64, a: string>"},
      {{"[{\"a\": [true]}]"}, "list<item: struct<a: list<item: bool>>>"}};
  for (const auto& [values, type] : cases) EXPECT_EQ(TypeOf(values), type);
  EXPECT_EQ(TypeOf({"[1, 2]"}, "input_ids"), "list<item: int32>");
  EXPECT_EQ(TypeOf({"[]"}, "labels"), "list<item: int32>");
  EXPECT_EQ(TypeOf({"{\"input_ids\": [1]}"}), "struct<input_ids: list<item: int32>>");
}

TEST(JsonShapeTest, SaysWhereValuesHaveNoCommonType) {
  EXPECT_THAT(TypeOf({"1", "\"a\""}), HasSubstr("'c' holds numbers and strings"));
  EXPECT_THAT(TypeOf({"[1, [2]]"}), HasSubstr("'c[]' holds numbers and lists"));
  EXPECT_THAT(TypeOf({"{\"a\": {\"b\": true}}", "{\"a\": {\"b\": 0}}"}),
              HasSubstr("'c.a.b' holds"));
  EXPECT_THAT(TypeOf({"[1"}), HasSubstr("not valid JSON"));
  JsonShape lenient(/*lenient=*/true);
  EXPECT_TRUE(lenient.Observe("1", "c").ok());
  EXPECT_TRUE(lenient.Observe("[2]", "c").ok());
  EXPECT_EQ(lenient.kind(), JsonShape::Kind::kMixed);
  JsonShape row;
  EXPECT_TRUE(row.ObserveRow("{\"a\": 1, \"b\": []}").ok());
  EXPECT_THAT(row.keys(), ::testing::ElementsAre("a", "b"));
  EXPECT_TRUE(row.ObserveRow("[1]").IsInvalid());
}

TEST(JsonShapeTest, TypesByName) {
  EXPECT_EQ(TypeFromName("list<list<int32>>").ValueOrDie()->ToString(),
            "list<item: list<item: int32>>");
  EXPECT_EQ(TypeFromName("float").ValueOrDie()->ToString(), "float");
  for (const char* name : {"", "list", "list<", "list<>", "Int32", "list<int32>>"}) {
    EXPECT_TRUE(TypeFromName(name).status().IsInvalid()) << name;
  }
}

/// A value of this type as JSON, once it went through a column; or the error.
std::string Through(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  JsonColumnBuilder builder({{"c", type}}, /*closed=*/false);
  if (const Status status = builder.AppendValue(json); !status.ok()) return status.message();
  const auto columns = builder.Finish().ValueOrDie();
  EXPECT_TRUE(columns[0]->ValidateFull().ok()) << json;
  std::string text;
  EXPECT_TRUE(AppendJsonValue(*columns[0], 0, &text).ok()) << json;
  return text;
}

TEST(JsonColumnBuilderTest, ValuesComeBackAsTheyWere) {
  const auto of = [](const char* name) { return TypeFromName(name).ValueOrDie(); };
  EXPECT_EQ(Through(of("int8"), "-128"), "-128");
  EXPECT_EQ(Through(of("uint64"), "18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(Through(of("int64"), "null"), "null");
  EXPECT_EQ(Through(of("float64"), "1"), "1.0");
  EXPECT_EQ(Through(of("float64"), "NaN"), "NaN");
  EXPECT_EQ(Through(of("float64"), "-Infinity"), "-Infinity");
  EXPECT_EQ(Through(of("bool"), "true"), "true");
  EXPECT_EQ(Through(of("string"), R"("a\"\u00e9\n")"), "\"a\\\"\xc3\xa9\\n\"");
  EXPECT_EQ(Through(of("list<int32>"), "[1, null, -3]"), "[1,null,-3]");
  EXPECT_EQ(Through(of("list<list<string>>"), R"([[], ["a"], null])"), R"([[],["a"],null])");
  const auto object = arrow::struct_(
      {arrow::field("a", arrow::int64()), arrow::field("b", arrow::list(arrow::float64()))});
  EXPECT_EQ(Through(object, R"({"b": [1], "a": 2})"), R"({"a":2,"b":[1.0]})");
  EXPECT_EQ(Through(object, R"({"a": 2, "a": 3})"), R"({"a":3,"b":null})");
  EXPECT_EQ(Through(nullptr, R"({"a" : [1, 2.50, "x"]})"), R"("{\"a\":[1,2.5,\"x\"]}")");
}

TEST(JsonColumnBuilderTest, SaysWhatDoesNotFit) {
  const auto of = [](const char* name) { return TypeFromName(name).ValueOrDie(); };
  EXPECT_THAT(Through(of("int8"), "128"), HasSubstr("'c'"));
  EXPECT_THAT(Through(of("uint8"), "-1"), HasSubstr("'c'"));
  EXPECT_THAT(Through(of("int64"), "1.5"), HasSubstr("'c'"));
  EXPECT_THAT(Through(of("int64"), "18446744073709551615"), HasSubstr("'c'"));
  EXPECT_THAT(Through(of("bool"), "1"), HasSubstr("'c'"));
  EXPECT_THAT(Through(of("string"), "1"), HasSubstr("'c'"));
  EXPECT_THAT(Through(of("list<int32>"), "[1, [2]]"), HasSubstr("'c[]'"));
  EXPECT_THAT(Through(arrow::struct_({arrow::field("a", arrow::int64())}), R"({"z": 1})"),
              HasSubstr("c.z"));
}

TEST(JsonColumnBuilderTest, RowsHaveNullsForKeysThatTheyLack) {
  JsonColumnBuilder builder({{"a", arrow::int64()}, {"b", nullptr}}, /*closed=*/true);
  EXPECT_TRUE(builder.AppendRow(R"({"a": 1, "b": {"x": 1}})").ok());
  EXPECT_TRUE(builder.AppendRow(R"({"b": 2, "b": null})").ok());
  EXPECT_TRUE(builder.AppendNull().ok());
  EXPECT_THAT(builder.AppendRow(R"({"z": 1})").message(), HasSubstr("z"));
  EXPECT_TRUE(builder.AppendRow("[1]").IsInvalid());
  EXPECT_TRUE(builder.AppendRow("{").IsInvalid());
  const auto columns = builder.Finish().ValueOrDie();
  const auto batch = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("a", arrow::int64()), JsonField("b")}), 3, columns);
  std::string text;
  ASSERT_TRUE(AppendJsonLines(*batch, &text).ok());
  EXPECT_EQ(text, "{\"a\":1,\"b\":{\"x\":1}}\n{\"a\":null,\"b\":null}\n{\"a\":null}\n");
}

TEST(JsonTextTest, WholeRowsGoOutAsTheyAre) {
  arrow::StringBuilder rows;
  for (const char* row : {"{\"a\": 1}", "{ }", "{\"a\":\n[1,\r\n2]}"}) {
    ASSERT_TRUE(rows.Append(row).ok());
  }
  arrow::Int32Builder more;
  ASSERT_TRUE(more.AppendValues({7, 8, 9}).ok());
  const auto row_column = rows.Finish().ValueOrDie();
  const auto more_column = more.Finish().ValueOrDie();
  std::string text;
  const auto alone =
      arrow::RecordBatch::Make(arrow::schema({JsonField(kRowColumn)}), 3, {row_column});
  ASSERT_TRUE(AppendJsonLines(*alone, &text).ok());
  EXPECT_EQ(text, "{\"a\": 1}\n{ }\n{\"a\": [1,  2]}\n");
  text.clear();
  const auto both = arrow::RecordBatch::Make(
      arrow::schema({JsonField(kRowColumn), arrow::field("b", arrow::int32())}), 3,
      {row_column, more_column});
  ASSERT_TRUE(AppendJsonLines(*both, &text).ok());
  EXPECT_EQ(text, "{\"a\": 1,\"b\":7}\n{ \"b\":8}\n{\"a\": [1,  2],\"b\":9}\n");
}

TEST(JsonTextTest, TypesWithoutAForm) {
  EXPECT_TRUE(CheckJsonType(*arrow::field("a", arrow::list(arrow::utf8()))).ok());
  EXPECT_TRUE(CheckJsonType(*arrow::field("a", arrow::timestamp(arrow::TimeUnit::SECOND))).ok());
  for (const auto& type : {arrow::binary(), arrow::list(arrow::binary()), arrow::float16()}) {
    EXPECT_THAT(CheckJsonType(*arrow::field("a", type)).message(), HasSubstr("column 'a'"));
  }
}

/// Floats as Python's json module writes them (tests/data/record_json.py) read as the same numbers.
class RecordedFloatsTest : public RecordedValuesTest {};

TEST_P(RecordedFloatsTest, ReadBack) {
  const nlohmann::json recorded = Read("json.json");
  for (const auto& each : recorded["floats"]) {
    // Not stod, which refuses the smallest ones.
    const double value = std::strtod(each[0].get<std::string>().c_str(), nullptr);
    for (std::string json = each[1].get<std::string>(); const int times : {0, 1}) {
      JsonColumnBuilder builder({{"c", arrow::float64()}}, /*closed=*/false);
      ASSERT_TRUE(builder.AppendValue(json).ok()) << json;
      const auto columns = builder.Finish().ValueOrDie();
      const double read = static_cast<const arrow::DoubleArray&>(*columns[0]).Value(0);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(read)) << json << times;
      } else {
        EXPECT_EQ(read, value) << json << times;
        EXPECT_EQ(std::signbit(read), std::signbit(value)) << json << times;
      }
      json.clear();
      ASSERT_TRUE(AppendJsonValue(*columns[0], 0, &json).ok());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, RecordedFloatsTest, testing::Values(Recorder::kOwn),
                         RecorderName);

}  // namespace
}  // namespace easydata::json
