#include "easydata/chat/column_values.h"

#include <arrow/array.h>
#include <arrow/json/from_string.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <string>

#include "easydata/jinja/python_text.h"

namespace easydata::chat {
namespace {

/// The rows of a column as JSON, one in a line.
std::string Rows(const std::shared_ptr<arrow::DataType>& type, std::string_view json,
                 bool is_json = false) {
  const auto column = arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
  ValueReader reader;
  jinja::Arena arena;
  std::string text;
  for (int64_t i = 0; i < column->length(); ++i) {
    const auto value = reader.ReadRow(*column, i, is_json, &arena);
    if (!value.ok()) return value.status().ToString();
    jinja::AppendJson(*value, {}, &text);
    text += "\n";
  }
  return text;
}

TEST(ColumnValuesTest, ColumnsOfAllKinds) {
  const auto message = arrow::struct_({arrow::field("role", arrow::utf8()),
                                       arrow::field("content", arrow::large_utf8()),
                                       arrow::field("weight", arrow::float64())});
  EXPECT_EQ(Rows(arrow::list(message),
                 R"([[{"role": "user", "content": "é", "weight": null}], [], null,
                     [{"role": "user", "content": null, "weight": 0.5}, null]])"),
            "[{\"role\": \"user\", \"content\": \"é\"}]\n[]\nnull\n"
            "[{\"role\": \"user\", \"weight\": 0.5}, null]\n");
  EXPECT_EQ(Rows(arrow::large_list(arrow::int8()), "[[1, -2], null]"), "[1, -2]\nnull\n");
  EXPECT_EQ(Rows(arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["a", "b", null])"),
            "\"a\"\n\"b\"\nnull\n");
  EXPECT_EQ(Rows(arrow::utf8_view(), R"(["a", "a text that is longer than a view"])"),
            "\"a\"\n\"a text that is longer than a view\"\n");
  EXPECT_EQ(Rows(arrow::boolean(), "[true, false]"), "true\nfalse\n");
  EXPECT_EQ(Rows(arrow::binary(), R"(["a"])").substr(0, 14), "NotImplemented");
}

TEST(ColumnValuesTest, JsonAsPythonReadsIt) {
  EXPECT_EQ(Rows(arrow::utf8(),
                 R"(["{\"a\": [1, 1.0, 18446744073709551615, null], \"b\": 1, \"a\": 2}"])", true),
            "{\"a\": 2, \"b\": 1}\n");
  EXPECT_EQ(Rows(arrow::utf8(), R"(["18446744073709551615"])", true), "18446744073709551615\n");
  EXPECT_EQ(Rows(arrow::utf8(), R"(["NaN"])", true).substr(0, 14), "NotImplemented");
}

}  // namespace
}  // namespace easydata::chat
