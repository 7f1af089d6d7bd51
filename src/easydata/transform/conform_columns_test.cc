#include "easydata/transform/conform_columns.h"

#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

using Texts = TestRows::Texts;

TEST(ConformColumnsTest, JsonBecomesText) {
  const Batch in =
      TestRows()
          .Json("t", {"\"plain\"", "\"a\\n\\u00e9\\ud83d\\ude00\"", "null", {}, "\"\""})
          .Ints("n", {1, 2, 3, 4, 5})
          .Make();
  const Batch out = ConformColumns({{"t", ColumnKind::kText}})->Apply(in).ValueOrDie();
  EXPECT_EQ(out.rows->num_columns(), 1);
  EXPECT_FALSE(json::IsJsonField(*out.rows->schema()->field(0)));
  EXPECT_EQ(TextsOf(out, "t"), (Texts{"plain", "a\n\u00e9\U0001F600", {}, {}, ""}));
}

TEST(ConformColumnsTest, EveryEscapeIsResolved) {
  const Batch in = TestRows()
                       .Json("t", {R"("\"\\\/\b\f\n\r\t|")",
                                   R"("\u0041\u00E9\u20ac\uD83D\uDE00\u0000")", R"("\\")"})
                       .Make();
  const Batch out = ConformColumns({{"t", ColumnKind::kText}})->Apply(in).ValueOrDie();
  const std::string nul(1, '\0');
  EXPECT_EQ(TextsOf(out, "t"), (Texts{"\"\\/\b\f\n\r\t|", "A\u00e9\u20ac\U0001F600" + nul, "\\"}));
  for (const char* bad :
       {R"("\ud83d")", R"("\ud83dx")", R"("\ude00\ud83d")", R"("\ud83d\u0041")"}) {
    const Status error = ConformColumns({{"t", ColumnKind::kText}})
                             ->Apply(TestRows().Json("t", {bad}).Make())
                             .status();
    EXPECT_NE(error.message().find("lone surrogate"), std::string::npos) << bad << error;
  }
}

TEST(ConformColumnsTest, JsonBecomesTokens) {
  const Batch in = TestRows().Json("t", {"[1, -2,2147483647]", "[]", "null"}).Make();
  const Batch out = ConformColumns({{"t", ColumnKind::kTokens}})->Apply(in).ValueOrDie();
  EXPECT_EQ(out.rows->column(0)->ToString(),
            "[\n  [\n    1,\n    -2,\n    2147483647\n  ],\n  [],\n  null\n]");
}

TEST(ConformColumnsTest, OtherKindsAreErrorsOfTheirRow) {
  const auto text = [](const char* json) {
    return ConformColumns({{"t", ColumnKind::kText}})
        ->Apply(TestRows().Json("t", {"\"x\"", json}).Make())
        .status();
  };
  EXPECT_TRUE(text("[1]").IsTypeError());
  EXPECT_NE(text("[1]").message().find("a.jsonl row 11: field 't' holds an array, expected text"),
            std::string::npos)
      << text("[1]");
  EXPECT_NE(text("12").message().find("holds a number"), std::string::npos);
  for (const char* json : {"[1.5]", "[2147483648]", "{\"a\":1}", "\"x\"", "[\"1\"]"}) {
    EXPECT_TRUE(ConformColumns({{"t", ColumnKind::kTokens}})
                    ->Apply(TestRows().Json("t", {json}).Make())
                    .status()
                    .IsTypeError())
        << json;
  }
}

TEST(ConformColumnsTest, TypedColumnsStay) {
  const Batch in = TestRows().Ints("n", {1}).Text("t", {"x"}).Make();
  const Batch out =
      ConformColumns({{"t", ColumnKind::kAny}, {"n", ColumnKind::kText}})->Apply(in).ValueOrDie();
  EXPECT_EQ(out.rows->schema()->ToString(), "t: string\nn: int64");
}

TEST(ConformColumnsTest, MissingColumnNamesTheNearest) {
  const Batch in = TestRows().Text("text", {"x"}).Make();
  const Status error =
      ConformColumns({{"txet", ColumnKind::kText}})->OutputSchema(in.rows->schema()).status();
  EXPECT_TRUE(error.IsKeyError());
  EXPECT_NE(error.message().find("did you mean \"text\"?"), std::string::npos) << error;
}

}  // namespace
}  // namespace easydata::transform
