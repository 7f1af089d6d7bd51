#include "easydata/stream/column_types.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "easydata/json/json_column.h"
#include "easydata/json/json_text.h"

namespace easydata {
namespace {

/// A batch of one column.
Batch OneColumn(const std::shared_ptr<arrow::Field>& field, const std::string& values) {
  Batch batch;
  const auto array = arrow::json::ArrayFromJSONString(field->type(), values).ValueOrDie();
  batch.rows = arrow::RecordBatch::Make(arrow::schema({field}), array->length(), {array});
  batch.addresses =
      Addresses(std::make_shared<const ShardRef>(ShardRef{"src", "a.jsonl"}), 0, array->length());
  return batch;
}

/// A batch of whole rows, which are JSON.
Batch RowsOfJson(const std::vector<std::string>& rows) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(rows).ok());
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(arrow::schema({json::JsonField(json::kRowColumn)}),
                                        static_cast<int64_t>(rows.size()), {*builder.Finish()});
  batch.addresses = Addresses(std::make_shared<const ShardRef>(ShardRef{"src", "a.jsonl"}), 0,
                              static_cast<int64_t>(rows.size()));
  return batch;
}

std::string LinesOf(const Batch& batch) {
  std::string lines;
  EXPECT_TRUE(batch.rows->ValidateFull().ok());
  EXPECT_TRUE(json::AppendJsonLines(*batch.rows, &lines).ok());
  return lines;
}

TEST(ColumnTypesTest, FillsRowsOfJsonThatLackColumns) {
  const auto types = ColumnTypes::Make({{"n", "string"}}, {"late", "n"}).ValueOrDie();
  const Batch batch = types
                          .Cast(RowsOfJson({R"({"a": 1})", R"({"n": 2, "late": 3})", R"({})",
                                            R"({"n": null})", R"({"late": {"n": 1}})"}))
                          .ValueOrDie();
  EXPECT_EQ(LinesOf(batch),
            "{\"a\":1,\"late\":null,\"n\":null}\n"
            "{\"n\":\"2\",\"late\":3}\n"
            "{\"late\":null,\"n\":null}\n"
            "{\"n\":null,\"late\":null}\n"
            "{\"late\":{\"n\":1},\"n\":null}\n");
  EXPECT_EQ(batch.num_rows(), 5);
}

TEST(ColumnTypesTest, FillsTypedBatchesThatLackColumns) {
  const auto types = ColumnTypes::Make({{"late", "float32"}}, {"late", "a", "odd"}).ValueOrDie();
  const Batch batch = OneColumn(arrow::field("a", arrow::int64()), "[1, null]");
  const auto schema = types.Apply(*batch.rows->schema(), /*adds=*/false).ValueOrDie();
  EXPECT_EQ(schema->ToString(), "a: int64\nlate: float\nodd: null");
  const Batch filled = types.Cast(batch).ValueOrDie();
  EXPECT_TRUE(filled.rows->schema()->Equals(*schema));
  EXPECT_EQ(LinesOf(filled),
            "{\"a\":1,\"late\":null,\"odd\":null}\n{\"a\":null,\"late\":null,\"odd\":null}\n");
  // One that has them is the same batch.
  EXPECT_TRUE(types.Cast(filled).ValueOrDie().rows->Equals(*filled.rows));
}

TEST(ColumnTypesTest, NamesWithQuotesAreFilled) {
  const auto types = ColumnTypes::Make({}, {"a\"b"}).ValueOrDie();
  EXPECT_EQ(LinesOf(types.Cast(RowsOfJson({R"({"a": 1})", R"({"a\"b": 2})"})).ValueOrDie()),
            "{\"a\":1,\"a\\\"b\":null}\n{\"a\\\"b\":2}\n");
}

TEST(ColumnTypesTest, WithoutFillsNothingIsAdded) {
  EXPECT_TRUE(ColumnTypes().empty());
  EXPECT_FALSE(ColumnTypes::Make({}, {"late"}).ValueOrDie().empty());
  const auto types = ColumnTypes::Make({{"late", "string"}}).ValueOrDie();
  EXPECT_EQ(LinesOf(types.Cast(RowsOfJson({R"({"a": 1})"})).ValueOrDie()), "{\"a\":1}\n");
  const Batch typed = OneColumn(arrow::field("a", arrow::int64()), "[1]");
  EXPECT_EQ(types.Cast(typed).ValueOrDie().rows->num_columns(), 1);
  // Where rows are whole, columns are not known.
  EXPECT_EQ(ColumnTypes::Make({}, {"late"})
                .ValueOrDie()
                .Apply(*RowsOfJson({"{}"}).rows->schema(), false)
                .ValueOrDie()
                ->num_fields(),
            1);
}

}  // namespace
}  // namespace easydata
