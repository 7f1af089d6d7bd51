#include "easydata/loader/collate.h"

#include <arrow/array.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "easydata/loader/row_digest.h"

namespace easydata::loader {
namespace {

std::shared_ptr<arrow::Array> ArrayOf(const std::shared_ptr<arrow::DataType>& type,
                                      const std::string& json) {
  return *arrow::json::ArrayFromJSONString(type, json);
}

Batch BatchOf(const std::string& name, const std::shared_ptr<arrow::DataType>& type,
              const std::string& json) {
  auto array = ArrayOf(type, json);
  Batch batch;
  batch.rows =
      arrow::RecordBatch::Make(arrow::schema({arrow::field(name, type)}), array->length(), {array});
  auto shard = std::make_shared<const ShardRef>(ShardRef{"src", "a.jsonl"});
  batch.addresses = Addresses(shard, 10, array->length());
  return batch;
}

Result<LoaderColumn> CollateOne(const Batch& batch, const PadOptions& options = {},
                                int64_t fill = 0) {
  ColumnLengths lengths;
  ARROW_RETURN_NOT_OK(MeasureLengths(batch, options, &lengths));
  ARROW_ASSIGN_OR_RAISE(auto columns, Collate(batch, fill, lengths, options));
  return columns[0];
}

template <typename T>
std::vector<T> Values(const LoaderColumn& column) {
  int64_t count = 1;
  for (int64_t size : column.shape) count *= size;
  const T* data = reinterpret_cast<const T*>(column.data);
  return {data, data + count};
}

const auto kIds = arrow::list(arrow::int32());

TEST(CollateTest, TokensWithoutTheLabelsOfOthersAreRefused) {
  const auto batch_of = [&](const std::string& name, const std::string& values) {
    Batch batch = BatchOf("input_ids", kIds, "[[1], [2], null]");
    const Batch other = BatchOf(name, kIds, values);
    batch.rows = batch.rows->AddColumn(1, name, other.rows->column(0)).ValueOrDie();
    return batch;
  };
  for (const char* name : {"labels", "completion_mask", "assistant_masks"}) {
    EXPECT_TRUE(CheckTrained(batch_of(name, "[[1], [], null]"), {}).ok());
    const Status status = CheckTrained(batch_of(name, "[[1], null, null]"), {});
    EXPECT_THAT(status.message(), ::testing::HasSubstr("no '" + std::string(name) + "'"));
    PadOptions meant;
    meant.columns[name] = {};
    EXPECT_TRUE(CheckTrained(batch_of(name, "[[1], null, null]"), meant).ok());
  }
  EXPECT_TRUE(CheckTrained(batch_of("scores", "[[1], null, null]"), {}).ok());
}

TEST(CollateTest, EvenListsAreNotCopied) {
  Batch batch = BatchOf("input_ids", kIds, "[[9, 9, 9], [1, 2, 3], [4, 5, 6]]").Slice(1, 2);
  auto column = CollateOne(batch).ValueOrDie();
  EXPECT_EQ(column.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(Values<int32_t>(column), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  const auto& list = static_cast<const arrow::ListArray&>(*batch.rows->column(0));
  const auto& values = static_cast<const arrow::Int32Array&>(*list.values());
  EXPECT_EQ(column.data, reinterpret_cast<const uint8_t*>(values.raw_values() + 3));
}

TEST(CollateTest, FixedSizeListsAreNotCopied) {
  Batch batch = BatchOf("x", arrow::fixed_size_list(arrow::int32(), 2), "[[1, 2], [3, 4], [5, 6]]")
                    .Slice(1, 2);
  auto column = CollateOne(batch).ValueOrDie();
  EXPECT_EQ(column.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(Values<int32_t>(column), (std::vector<int32_t>{3, 4, 5, 6}));
  Batch image = BatchOf("x", arrow::fixed_size_list(arrow::fixed_size_list(arrow::uint8(), 2), 2),
                        "[[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]")
                    .Slice(1, 2);
  column = CollateOne(image).ValueOrDie();
  EXPECT_EQ(column.shape, (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(Values<uint8_t>(column), (std::vector<uint8_t>{5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST(CollateTest, RaggedListsArePadded) {
  const std::string rows = "[[1], [2, 3, 4], [], null]";
  EXPECT_EQ(Values<int32_t>(CollateOne(BatchOf("attention_mask", kIds, rows)).ValueOrDie()),
            (std::vector<int32_t>{1, 0, 0, 2, 3, 4, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Values<int32_t>(CollateOne(BatchOf("labels", kIds, rows)).ValueOrDie()),
            (std::vector<int32_t>{1, -100, -100, 2, 3, 4, -100, -100, -100, -100, -100, -100}));
  PadOptions options;
  options.known_pad_id = 7;
  EXPECT_EQ(Values<int32_t>(CollateOne(BatchOf("input_ids", kIds, rows), options).ValueOrDie()),
            (std::vector<int32_t>{1, 7, 7, 2, 3, 4, 7, 7, 7, 7, 7, 7}));
  options.columns["input_ids"] = {.value = 5, .left = true, .lengths = {4}};
  EXPECT_EQ(Values<int32_t>(CollateOne(BatchOf("input_ids", kIds, rows), options).ValueOrDie()),
            (std::vector<int32_t>{5, 5, 5, 1, 5, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5}));
}

TEST(CollateTest, ColumnsArePaddedAsTheirMakersSay) {
  const std::string rows = "[[1], [2, 3]]";
  const auto padded = [&](const std::string& column, const PadOptions& options) {
    return Values<int32_t>(CollateOne(BatchOf(column, kIds, rows), options).ValueOrDie());
  };
  PadOptions options;
  options.known_pad_id = 7;
  options.makers = std::make_shared<const ColumnPaddings>(
      ColumnPaddings{{"prompt_ids", {.value = 8, .left = true, .is_token = true}},
                     {"chosen_labels", {.value = -100}}});
  EXPECT_EQ(padded("prompt_ids", options), (std::vector<int32_t>{8, 1, 2, 3}));
  EXPECT_EQ(padded("chosen_labels", options), (std::vector<int32_t>{1, -100, 2, 3}));
  EXPECT_EQ(padded("input_ids", options), (std::vector<int32_t>{1, 7, 2, 3}));
  options.pad_token_id = 9;
  EXPECT_EQ(padded("prompt_ids", options), (std::vector<int32_t>{9, 1, 2, 3}));
  EXPECT_EQ(padded("input_ids", options), (std::vector<int32_t>{1, 9, 2, 3}));
  EXPECT_EQ(padded("chosen_labels", options), (std::vector<int32_t>{1, -100, 2, 3}));
  // A PadSpec goes before, in what it says.
  options.columns["prompt_ids"] = {.lengths = {3}};
  EXPECT_EQ(padded("prompt_ids", options), (std::vector<int32_t>{9, 9, 1, 9, 2, 3}));
  options.columns["prompt_ids"] = {.value = 5, .left = false};
  EXPECT_EQ(padded("prompt_ids", options), (std::vector<int32_t>{1, 5, 2, 3}));
}

TEST(CollateTest, FilesTellHowTheirColumnsArePadded) {
  Batch batch = BatchOf("asked", kIds, "[[1], [2, 3]]");
  const auto saved = std::make_shared<const ColumnPaddings>(
      ColumnPaddings{{"asked", {.value = 8, .left = true, .is_token = true}}});
  batch.rows = batch.rows->ReplaceSchemaMetadata(nullptr);
  batch.rows = arrow::RecordBatch::Make(WithPaddings(batch.rows->schema(), saved), 2,
                                        {batch.rows->column(0)});
  PadOptions options;
  const LoaderColumn column = CollateOne(batch, options).ValueOrDie();
  EXPECT_EQ(Values<int32_t>(column), (std::vector<int32_t>{8, 1, 2, 3}));
  // So that whoever joins batches fills up their rows alike.
  EXPECT_EQ(column.padding.value, 8);
  EXPECT_TRUE(column.padding.left);
  options.makers = std::make_shared<const ColumnPaddings>(ColumnPaddings{{"asked", {.value = 4}}});
  EXPECT_EQ(Values<int32_t>(CollateOne(batch, options).ValueOrDie()),
            (std::vector<int32_t>{1, 4, 2, 3}));
}

TEST(CollateTest, RowLongerThanItsPaddingIsAnErrorWithItsAddress) {
  PadOptions options;
  options.columns["input_ids"] = {.value = 0, .left = false, .lengths = {2}};
  auto column = CollateOne(BatchOf("input_ids", kIds, "[[1], [2, 3, 4]]"), options);
  ASSERT_TRUE(column.status().IsInvalid());
  EXPECT_NE(column.status().message().find("a.jsonl"), std::string::npos);
  EXPECT_NE(column.status().message().find("11"), std::string::npos);
}

TEST(CollateTest, MissingNumbers) {
  auto column = CollateOne(BatchOf("score", arrow::float32(), "[1.5, null]")).ValueOrDie();
  EXPECT_EQ(Values<float>(column)[0], 1.5f);
  EXPECT_TRUE(std::isnan(Values<float>(column)[1]));
  auto number = CollateOne(BatchOf("n", arrow::int64(), "[1, null]"));
  ASSERT_TRUE(number.status().IsInvalid());
  EXPECT_NE(number.status().message().find("PadSpec"), std::string::npos);
  PadOptions options;
  options.columns["n"] = {.value = -1, .left = false, .lengths = {}};
  EXPECT_EQ(
      Values<int64_t>(CollateOne(BatchOf("n", arrow::int64(), "[1, null]"), options).ValueOrDie()),
      (std::vector<int64_t>{1, -1}));
}

TEST(CollateTest, BitsBecomeBytes) {
  EXPECT_EQ(Values<uint8_t>(
                CollateOne(BatchOf("b", arrow::boolean(), "[true, false, true]")).ValueOrDie()),
            (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(Values<uint8_t>(
                CollateOne(BatchOf("b", arrow::list(arrow::boolean()), "[[true], [true, true]]"))
                    .ValueOrDie()),
            (std::vector<uint8_t>{1, 0, 1, 1}));
}

TEST(CollateTest, FillAddsRows) {
  auto column = CollateOne(BatchOf("labels", kIds, "[[1, 2], [3, 4]]"), {}, 1).ValueOrDie();
  EXPECT_EQ(column.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(Values<int32_t>(column), (std::vector<int32_t>{1, 2, 3, 4, -100, -100}));
  column = CollateOne(BatchOf("text", arrow::utf8(), "[\"a\"]"), {}, 1).ValueOrDie();
  EXPECT_FALSE(column.dense());
  EXPECT_EQ(column.values->length(), 2);
  EXPECT_TRUE(column.values->IsNull(1));
}

TEST(RowDigestTest, CountsRowsNotBatchesOrKinds) {
  Batch list = BatchOf("input_ids", kIds, "[[1, 2], [3, 4], [5, 6]]");
  Batch fixed =
      BatchOf("input_ids", arrow::fixed_size_list(arrow::int32(), 2), "[[1, 2], [3, 4], [5, 6]]");
  const uint64_t whole = RowDigest(*list.rows, 100);
  EXPECT_EQ(RowDigest(*fixed.rows, 100), whole);
  EXPECT_EQ(RowDigest(*list.rows->Slice(0, 1), 100) + RowDigest(*list.rows->Slice(1, 2), 101),
            whole);
  EXPECT_NE(RowDigest(*list.rows, 101), whole);
  EXPECT_NE(RowDigest(*BatchOf("labels", kIds, "[[1, 2], [3, 4], [5, 6]]").rows, 100), whole);
  EXPECT_NE(RowDigest(*BatchOf("input_ids", kIds, "[[3, 4], [1, 2], [5, 6]]").rows, 100), whole);
  EXPECT_NE(RowDigest(*BatchOf("s", arrow::list(arrow::utf8()), "[[\"a\", \"bc\"]]").rows, 0),
            RowDigest(*BatchOf("s", arrow::list(arrow::utf8()), "[[\"ab\", \"c\"]]").rows, 0));
}

}  // namespace
}  // namespace easydata::loader
