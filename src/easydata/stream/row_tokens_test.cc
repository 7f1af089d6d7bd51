#include "easydata/stream/row_tokens.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "easydata/json/json_column.h"
#include "easydata/stream/row_error.h"

namespace easydata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Batch TextRows(const std::shared_ptr<arrow::Field>& field, const std::vector<std::string>& texts) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(texts).ok());
  EXPECT_TRUE(builder.AppendNull().ok());
  Batch batch;
  const auto count = static_cast<int64_t>(texts.size()) + 1;
  batch.rows =
      arrow::RecordBatch::Make(arrow::schema({field}), count, {builder.Finish().ValueOrDie()});
  batch.addresses.Append(std::make_shared<ShardRef>(ShardRef{"web", "x.jsonl"}), 7, -1, count);
  return batch;
}

TEST(RowTokensTest, CountsListsOfWholeRowsOfJson) {
  const Batch rows = TextRows(
      json::JsonField(json::kRowColumn),
      {R"({"input_ids": [1, 2, 3]})", R"({"a": {"input_ids": [1]}, "input_ids": []})",
       R"({"input_ids": null, "b": NaN})", R"({"b": [-Infinity, {"c": []}], "input_ids": [5]})",
       R"({"input_ids": [1], "input\u005fids": [1, 2]})"});
  EXPECT_THAT(RowTokens(rows, "input_ids").ValueOrDie(), ElementsAre(3, 0, 0, 1, 2, 0));
  EXPECT_TRUE(MayHaveTokens(*rows.rows->schema(), "input_ids"));
}

TEST(RowTokensTest, CountsListsOfJsonText) {
  const Batch rows = TextRows(json::JsonField("ids"), {"[1, 2]", "null", "[]", "[[1, 2], 3]"});
  EXPECT_THAT(RowTokens(rows, "ids").ValueOrDie(), ElementsAre(2, 0, 0, 2, 0));
  EXPECT_TRUE(RowTokens(rows, "other").ValueOrDie().empty());
  EXPECT_TRUE(MayHaveTokens(*rows.rows->schema(), "ids"));
  EXPECT_FALSE(MayHaveTokens(*rows.rows->schema(), "other"));
}

TEST(RowTokensTest, WhatIsNoListIsAnErrorOfItsRow) {
  for (const char* text :
       {R"({"input_ids": "1 2"})", R"({"input_ids": 3})", R"([1])", R"({"a": [1]})"}) {
    const Batch rows = TextRows(json::JsonField(json::kRowColumn), {R"({"input_ids": []})", text});
    const Status status = RowTokens(rows, "input_ids").status();
    EXPECT_TRUE(status.IsTypeError()) << status;
    EXPECT_THAT(status.message(),
                HasSubstr("needs lists of tokens in column \"input_ids\"; tokenize"));
    ASSERT_NE(RowErrorAddress(status), nullptr);
    EXPECT_EQ(RowErrorAddress(status)->row, 8);
  }
}

TEST(RowTokensTest, TextIsNothingToCount) {
  const Batch rows = TextRows(arrow::field("input_ids", arrow::utf8()), {"a b"});
  EXPECT_FALSE(MayHaveTokens(*rows.rows->schema(), "input_ids"));
}

}  // namespace
}  // namespace easydata
