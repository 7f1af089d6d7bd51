#include "easydata/stream/gather_rows.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <random>

#include "easydata/stream/stage_contract.h"

namespace easydata {
namespace {

Batch FromJson(const std::shared_ptr<arrow::Schema>& schema, const std::string& rows,
               const char* shard) {
  Batch batch;
  auto array =
      arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), rows).ValueOrDie();
  batch.rows = arrow::RecordBatch::FromStructArray(array).ValueOrDie();
  batch.addresses =
      Addresses(std::make_shared<const ShardRef>(ShardRef{"s", shard}), 0, batch.rows->num_rows());
  return batch;
}

std::shared_ptr<arrow::Schema> AllKinds() {
  return arrow::schema({arrow::field("i", arrow::int16()), arrow::field("b", arrow::boolean()),
                        arrow::field("t", arrow::utf8()), arrow::field("lt", arrow::large_utf8()),
                        arrow::field("l", arrow::list(arrow::int32())),
                        arrow::field("ll", arrow::large_list(arrow::int64())),
                        arrow::field("f", arrow::fixed_size_list(arrow::int32(), 2)),
                        arrow::field("ls", arrow::list(arrow::utf8())),
                        arrow::field("st", arrow::struct_({arrow::field("x", arrow::int32())}))});
}

const char kFirst[] = R"([
  {"i": 1, "b": true, "t": "one", "lt": "eins", "l": [1], "ll": [10, 11], "f": [1, 2],
   "ls": ["a"], "st": {"x": 1}},
  {"i": null, "b": null, "t": null, "lt": null, "l": null, "ll": null, "f": null, "ls": null,
   "st": null},
  {"i": 3, "b": false, "t": "", "lt": "", "l": [], "ll": [], "f": [3, 4], "ls": [], "st": {"x": 3}}
])";
const char kSecond[] = R"([
  {"i": 4, "b": true, "t": "four", "lt": "vier", "l": [4, null], "ll": [40], "f": [5, 6],
   "ls": ["b", null], "st": {"x": null}},
  {"i": 5, "b": true, "t": "five", "lt": "fuenf", "l": [5, 5, 5], "ll": [50], "f": [7, 8],
   "ls": ["c"], "st": {"x": 5}}
])";

TEST(GatherRowsTest, EveryRowIsAsItWas) {
  const auto schema = AllKinds();
  std::vector<Batch> parts = {FromJson(schema, kFirst, "a"), FromJson(schema, kSecond, "b")};
  parts.push_back(parts[0].Slice(1, 2));
  std::vector<std::vector<std::string>> described;
  for (const Batch& part : parts) described.push_back(DescribeRows(part));
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<RowRef> rows;
    std::vector<std::string> expected;
    for (int i = 0; i < trial; ++i) {
      const auto part = static_cast<int32_t>(random() % parts.size());
      const int64_t row = random() % parts[part].num_rows();
      rows.push_back({part, row});
      expected.push_back(described[part][row]);
    }
    Batch gathered = GatherRows(parts, rows, schema).ValueOrDie();
    ASSERT_TRUE(gathered.rows->ValidateFull().ok()) << gathered.rows->ValidateFull();
    EXPECT_EQ(DescribeRows(gathered), expected);
  }
}

TEST(GatherRowsTest, MissingColumnsAreNull) {
  const auto schema = AllKinds();
  const auto few = arrow::schema({schema->field(2), arrow::field("i", arrow::null())});
  std::vector<Batch> parts = {FromJson(schema, kFirst, "a"),
                              FromJson(few, R"([{"t": "alone", "i": null}])", "c")};
  Batch gathered = GatherRows(parts, {{1, 0}, {0, 0}, {1, 0}}, schema).ValueOrDie();
  ASSERT_TRUE(gathered.rows->ValidateFull().ok()) << gathered.rows->ValidateFull();
  for (const auto& column : gathered.rows->columns()) {
    const bool text = column->type_id() == arrow::Type::STRING;
    EXPECT_EQ(column->null_count(), text ? 0 : 2) << column->type()->ToString();
  }
  EXPECT_EQ(gathered.addresses.At(2).shard->shard, "c");
}

TEST(GatherRowsTest, AnotherTypeIsAnError) {
  const auto schema = AllKinds();
  const auto other = arrow::schema({arrow::field("t", arrow::int64())});
  const Status status =
      GatherRows({FromJson(other, R"([{"t": 1}])", "a")}, {{0, 0}}, schema).status();
  EXPECT_TRUE(status.IsTypeError());
  EXPECT_NE(status.message().find("column \"t\" is int64"), std::string::npos) << status;
}

TEST(GatherRowsTest, CountsContentBytes) {
  const auto schema = arrow::schema(
      {arrow::field("t", arrow::utf8()), arrow::field("l", arrow::list(arrow::int32()))});
  const Batch batch =
      FromJson(schema, R"([{"t": "abc", "l": [1, 2]}, {"t": null, "l": null}])", "a");
  EXPECT_EQ(ContentBytesByRow(*batch.rows), (std::vector<int64_t>{11, 0}));
}

}  // namespace
}  // namespace easydata
