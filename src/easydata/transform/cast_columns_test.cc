#include "easydata/transform/cast_columns.h"

#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

using Texts = TestRows::Texts;

TEST(CastColumnsTest, ColumnsAreMatchedByNameAndBecomeWider) {
  const auto schema = arrow::schema({arrow::field("t", arrow::large_utf8()),
                                     arrow::field("ids", arrow::large_list(arrow::int64())),
                                     arrow::field("n", arrow::int64())});
  const auto op = CastColumns(schema);
  const Batch in =
      TestRows().Ints("n", {1, 2}).Tokens("ids", {{3}, {}}).Text("t", {"a", {}}).Make();
  EXPECT_TRUE(op->keeps_rows());
  EXPECT_EQ(op->OutputSchema(in.rows->schema()).ValueOrDie(), schema);
  const Batch out = op->Apply(in).ValueOrDie();
  ASSERT_TRUE(out.rows->Validate().ok());
  EXPECT_EQ(out.rows->schema(), schema);
  EXPECT_EQ(out.rows->column(0)->ToString(), "[\n  \"a\",\n  null\n]");
  EXPECT_EQ(out.rows->column(1)->ToString(), "[\n  [\n    3\n  ],\n  []\n]");
  EXPECT_EQ(out.rows->column(2)->ToString(), "[\n  1,\n  2\n]");
  EXPECT_EQ(out.AddressOf(1).ToString(), in.AddressOf(1).ToString());
}

TEST(CastColumnsTest, AMissingColumnIsNamed) {
  const auto op = CastColumns(arrow::schema({arrow::field("x", arrow::int64())}));
  const Status error = op->OutputSchema(TestRows().Ints("n", {1}).Make().rows->schema()).status();
  EXPECT_TRUE(error.IsTypeError());
  EXPECT_NE(error.message().find("no column \"x\""), std::string::npos) << error;
}

TEST(ColumnsToJsonTest, RowsAreWrittenWhole) {
  const Batch in = TestRows()
                       .Ints("n", {1, 2})
                       .Text("t", {"a\n", {}})
                       .Json("j", {"[1]", {}})
                       .Tokens("ids", {{3, 4}, {}})
                       .Make();
  const Batch out = ColumnsToJson({})->Apply(in).ValueOrDie();
  EXPECT_TRUE(json::IsJsonField(*out.rows->schema()->field(0)));
  EXPECT_EQ(TextsOf(out, json::kRowColumn),
            (Texts{R"({"n":1,"t":"a\n","j":[1],"ids":[3,4]})", R"({"n":2,"t":null,"ids":[]})"}));
}

TEST(ColumnsToJsonTest, WhatIsTextOrTokensAsWantedStays) {
  const Batch in = TestRows()
                       .Ints("n", {1})
                       .Ints("m", {2})
                       .Text("t", {"a"})
                       .Text("u", {"b"})
                       .Tokens("ids", {{3}})
                       .Json("j", {"null"})
                       .Make();
  const auto op = ColumnsToJson({{{"j", ColumnKind::kText},
                                  {"ids", ColumnKind::kTokens},
                                  {"t", ColumnKind::kText},
                                  {"u", ColumnKind::kAny},
                                  {"m", ColumnKind::kText},
                                  {"n", ColumnKind::kAny}}});
  const Batch out = op->Apply(in).ValueOrDie();
  EXPECT_TRUE(out.rows->schema()->Equals(*op->OutputSchema(in.rows->schema()).ValueOrDie()));
  EXPECT_EQ(out.rows->schema()->ToString(false),
            "j: string\nids: list<item: int32>\nt: string\nu: string\nm: string\nn: string");
  EXPECT_EQ(TextsOf(out, "t"), (Texts{"a"}));
  EXPECT_EQ(TextsOf(out, "u"), (Texts{"\"b\""}));
  EXPECT_EQ(TextsOf(out, "m"), (Texts{"2"}));
  EXPECT_EQ(TextsOf(out, "j"), (Texts{"null"}));
  EXPECT_FALSE(json::IsJsonField(*out.rows->schema()->field(2)));
  EXPECT_TRUE(json::IsJsonField(*out.rows->schema()->field(3)));
}

}  // namespace
}  // namespace easydata::transform
