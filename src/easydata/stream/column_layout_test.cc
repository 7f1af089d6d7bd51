#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "easydata/json/json_column.h"
#include "easydata/json/json_shape.h"
#include "easydata/json/json_text.h"
#include "easydata/json/typed_text.h"
#include "easydata/stream/column_layout.h"
#include "easydata/stream/row_error.h"

namespace easydata {
namespace {

Batch RowsOf(const std::vector<std::string>& rows, const std::string& column = json::kRowColumn) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(rows).ok());
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(arrow::schema({json::JsonField(column)}),
                                        static_cast<int64_t>(rows.size()), {*builder.Finish()});
  batch.addresses = Addresses(std::make_shared<const ShardRef>(ShardRef{"src", "a.jsonl"}), 0,
                              static_cast<int64_t>(rows.size()));
  return batch;
}

TEST(ColumnLayoutTest, ColumnsAndTypesComeFromTheRows) {
  Batch batch =
      RowsOf({R"({"text": "2020-01-01", "n": 1, "input_ids": [1, 2]})",
              R"({"text": null, "n": 2.5, "meta": {"k": [true], "s": "x"}, "input_ids": []})",
              R"({"empty": null, "nan": NaN})"});
  auto layout = *MakeColumnLayout(batch.rows->schema(), {batch}, std::nullopt, JsonTarget::kTyped);
  EXPECT_EQ(layout->schema()->ToString(),
            "text: string\nn: double\ninput_ids: list<item: int32>\n"
            "meta: struct<k: list<item: bool>, s: string>\nempty: null\nnan: double");
  auto converted = layout->Convert(batch);
  ASSERT_TRUE(converted.ok()) << converted.status();
  ASSERT_TRUE((*converted)->ValidateFull().ok());
  EXPECT_EQ((*(*converted)->column(0)->GetScalar(0))->ToString(), "2020-01-01");
  EXPECT_TRUE((*converted)->column(0)->IsNull(1));
  EXPECT_EQ((*(*converted)->column(1)->GetScalar(0))->ToString(), "1");
  EXPECT_TRUE((*converted)->column(2)->IsNull(2));
  EXPECT_EQ((*(*converted)->column(5)->GetScalar(2))->ToString(), "nan");
}

TEST(ColumnLayoutTest, LaterNewKeyIsAnErrorThatNamesItAndItsRow) {
  Batch batch = RowsOf({R"({"a": 1})", R"({"a": 2, "b": 3})"});
  auto layout = *MakeColumnLayout(batch.rows->schema(), {batch.Slice(0, 1)}, std::nullopt,
                                  JsonTarget::kTyped);
  const Status status = layout->Convert(batch).status();
  ASSERT_TRUE(status.IsInvalid()) << status;
  EXPECT_NE(status.message().find("'b'"), std::string::npos) << status;
  EXPECT_NE(status.message().find("column_types={"), std::string::npos);
  ASSERT_NE(RowErrorAddress(status), nullptr);
  EXPECT_EQ(RowErrorAddress(status)->row, 1);

  // Only listed columns are looked at.
  auto chosen = MakeColumnLayout(batch.rows->schema(), {batch.Slice(0, 1)},
                                 WantedColumns{{{"b", "int32"}, {"a", ""}}}, JsonTarget::kTyped);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ((*chosen)->schema()->ToString(), "b: int32\na: int64");
  auto converted = (*chosen)->Convert(batch);
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_TRUE((*converted)->column(0)->IsNull(0));
  EXPECT_EQ((*(*converted)->column(0)->GetScalar(1))->ToString(), "3");
  EXPECT_FALSE(MakeColumnLayout(batch.rows->schema(), {batch.Slice(0, 1)},
                                WantedColumns{{{"b", ""}}}, JsonTarget::kTyped)
                   .ok());
}

TEST(ColumnLayoutTest, ValuesOfAnotherTypeAreErrors) {
  Batch batch = RowsOf({R"({"a": 1})", R"({"a": "x"})"});
  EXPECT_TRUE(MakeColumnLayout(batch.rows->schema(), {batch}, std::nullopt, JsonTarget::kTyped)
                  .status()
                  .IsTypeError());
  auto layout = *MakeColumnLayout(batch.rows->schema(), {batch.Slice(0, 1)}, std::nullopt,
                                  JsonTarget::kTyped);
  const Status status = layout->Convert(batch).status();
  ASSERT_TRUE(status.IsTypeError()) << status;
  EXPECT_NE(status.message().find("\"x\""), std::string::npos);
  Batch column = RowsOf({"[1, 2]", "3000000000"}, "labels");
  EXPECT_FALSE(
      MakeColumnLayout(column.rows->schema(), {column}, std::nullopt, JsonTarget::kTyped).ok());
}

TEST(ColumnLayoutTest, TheLastOfTwoEqualKeysCounts) {
  Batch batch = RowsOf({R"({"a": 1, "a": 2, "o": {"k": 1, "k": 2}})"});
  auto layout = *MakeColumnLayout(batch.rows->schema(), {batch}, std::nullopt, JsonTarget::kTyped);
  auto converted = *layout->Convert(batch);
  EXPECT_EQ((*converted->column(0)->GetScalar(0))->ToString(), "2");
}

TEST(ColumnLayoutTest, JsonlKeepsRowsAsTheyAre) {
  Batch batch = RowsOf({R"({"b": 1.0, "a":  "\u00e9\n"})", "{\n\"x\": {}\n}"});
  auto layout = *MakeColumnLayout(batch.rows->schema(), {}, std::nullopt, JsonTarget::kText);
  std::string text;
  ASSERT_TRUE(json::AppendJsonLines(**layout->Convert(batch), &text).ok());
  EXPECT_EQ(text, "{\"b\": 1.0, \"a\":  \"\\u00e9\\n\"}\n{ \"x\": {} }\n");
}

TEST(ColumnLayoutTest, ColumnsBesideARowAreAddedToIt) {
  Batch batch = RowsOf({R"({"a": 1})", "{}", "{ }"});
  arrow::StringBuilder builder;
  ASSERT_TRUE(builder.AppendValues({"x", "y", "z"}).ok());
  auto rows =
      *batch.rows->AddColumn(1, arrow::field("__source__", arrow::utf8()), *builder.Finish());
  std::string text;
  ASSERT_TRUE(json::AppendJsonLines(*rows, &text).ok());
  EXPECT_EQ(text,
            "{\"a\": 1,\"__source__\":\"x\"}\n{\"__source__\":\"y\"}\n{ \"__source__\":\"z\"}\n");
}

TEST(ColumnLayoutTest, ForArraysWhatMakesNoneStaysJson) {
  Batch batch =
      RowsOf({R"({"input_ids": [1], "labels": [], "mixed": 1, "words": ["a"], "text": "t"})",
              R"({"input_ids": [], "labels": [], "mixed": "x", "words": [], "text": "u"})"});
  auto layout = *MakeColumnLayout(batch.rows->schema(), {batch}, std::nullopt, JsonTarget::kArrays);
  EXPECT_EQ(layout->schema()->ToString(/*show_metadata=*/false),
            "input_ids: list<item: int32>\nlabels: list<item: int32>\nmixed: string\n"
            "words: string\ntext: string");
  EXPECT_TRUE(json::IsJsonField(*layout->schema()->field(3)));
  EXPECT_FALSE(json::IsJsonField(*layout->schema()->field(4)));
  auto converted = *layout->Convert(batch);
  EXPECT_EQ((*converted->column(2)->GetScalar(1))->ToString(), "\"x\"");
}

TEST(JsonTextTest, StringsAndNumbersReadBack) {
  std::string out;
  json::AppendJsonString("a\"\\\n\t\x01é😀", &out);
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\t\\u0001é😀\"");
}

TEST(TypeNameTest, Names) {
  EXPECT_EQ((*json::TypeFromName("list<list<int32>>"))->ToString(),
            "list<item: list<item: int32>>");
  EXPECT_NE(json::TypeFromName("strng").status().message().find("strng"), std::string::npos);
}

/// Rows of some fields whose kinds, order and values `random` chooses, written from typed values.
Batch TypedRows(std::mt19937* random, const std::string& column) {
  const auto choose = [&](int most) { return static_cast<int>((*random)() % (most + 1)); };
  const int64_t num_rows = choose(5);
  std::vector<std::string> names = {"input_ids", "text", "n", "x"};
  std::shuffle(names.begin(), names.end(), *random);
  names.resize(1 + choose(3));
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const std::string& name : names) {
    // Mostly each name has its own type.
    const int kind = choose(4) > 0 ? static_cast<int>(name[0]) % 4 : choose(3);
    std::string values = "[";
    for (int64_t i = 0; i < num_rows; ++i) {
      const std::string number =
          std::to_string(choose(1) == 0 ? choose(9) : -choose(1'000'000'000));
      const std::vector<std::string> forms = {"\"" + number + "\"", number, number + ".5",
                                              choose(1) == 0 ? "true" : "false"};
      values += (i == 0 ? "" : ", ") + forms[kind];
    }
    const std::vector<std::shared_ptr<arrow::DataType>> types = {
        arrow::utf8(), arrow::int64(), arrow::float64(), arrow::boolean()};
    arrays.push_back(*arrow::json::ArrayFromJSONString(types[kind], values + "]"));
    fields.push_back(arrow::field(name, types[kind]));
  }
  std::shared_ptr<arrow::Array> values = *arrow::StructArray::Make(arrays, fields);
  if (column != json::kRowColumn) values = arrays[0];
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(arrow::schema({json::JsonField(column)}), num_rows,
                                        {*json::WriteTypedText(values)});
  batch.addresses =
      Addresses(std::make_shared<const ShardRef>(ShardRef{"src", "a.jsonl"}), choose(9), num_rows);
  const int64_t begin = choose(1) * std::min<int64_t>(1, num_rows);
  return batch.Slice(begin, num_rows - begin);
}

/// The same texts in memory of their own, without the values.
Batch TextsAlone(const Batch& batch) {
  const auto& texts = static_cast<const arrow::StringArray&>(*batch.rows->column(0));
  arrow::StringBuilder builder;
  for (int64_t i = 0; i < texts.length(); ++i) EXPECT_TRUE(builder.Append(texts.GetView(i)).ok());
  Batch out = batch;
  out.rows = arrow::RecordBatch::Make(batch.rows->schema(), texts.length(), {*builder.Finish()});
  return out;
}

TEST(ColumnLayoutTest, ValuesThatTextWasWrittenFromAreWhatIsParsed) {
  std::mt19937 random(0);
  int num_good = 0;
  int num_bad = 0;
  int num_unparsed = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string column = round % 3 == 0 ? "n" : json::kRowColumn;
    std::vector<Batch> typed;
    for (int i = 0; i < 1 + round % 3; ++i) {
      typed.push_back(TypedRows(&random, column));
      // Among others.
      if (round % 5 == 0) typed.back() = TextsAlone(typed.back());
    }
    std::vector<Batch> texts;
    for (const Batch& batch : typed) texts.push_back(TextsAlone(batch));
    const auto target = round % 2 == 0 ? JsonTarget::kTyped : JsonTarget::kArrays;
    const auto schema = typed[0].rows->schema();
    const WantedColumns wanted = round % 7 == 0 && column != "n"
                                     ? WantedColumns{{{"n", "float64"}, {"x", "string"}}}
                                     : std::nullopt;
    const auto a = MakeColumnLayout(schema, typed, wanted, target);
    const auto b = MakeColumnLayout(schema, texts, wanted, target);
    ASSERT_EQ(a.status().ToString(), b.status().ToString()) << round;
    ++(a.ok() ? num_good : num_bad);
    if (!a.ok()) continue;
    ASSERT_EQ((*a)->schema()->ToString(), (*b)->schema()->ToString()) << round;
    for (size_t i = 0; i < typed.size(); ++i) {
      const auto from_values = (*a)->Convert(typed[i]);
      const auto from_text = (*b)->Convert(texts[i]);
      ASSERT_EQ(from_values.status().ToString(), from_text.status().ToString()) << round;
      if (!from_values.ok()) continue;
      ASSERT_TRUE((*from_values)->ValidateFull().ok());
      ASSERT_TRUE((*from_values)->Equals(**from_text)) << round;
    }
    std::vector<Batch> together = typed;
    std::vector<Batch> parsed = texts;
    ASSERT_EQ(TypeColumns(target, &together).ToString(), TypeColumns(target, &parsed).ToString());
    for (size_t i = 0; i < typed.size(); ++i) {
      ASSERT_TRUE(together[i].rows->Equals(*parsed[i].rows)) << round;
      const auto values =
          json::TypedValuesOf(static_cast<const arrow::StringArray&>(*typed[i].rows->column(0)));
      if (column == "n" && values != nullptr && together[i].num_rows() > 0) {
        num_unparsed += together[i].rows->column_data(0)->buffers[1] == values->data()->buffers[1];
      }
    }
  }
  EXPECT_GT(num_good, 1000);
  EXPECT_GT(num_bad, 100);
  EXPECT_GT(num_unparsed, 100);
}

}  // namespace
}  // namespace easydata
