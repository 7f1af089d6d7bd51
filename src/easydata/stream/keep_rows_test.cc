#include "easydata/stream/keep_rows.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

namespace easydata {
namespace {

Batch TwoSources() {
  arrow::Int64Builder builder;
  EXPECT_TRUE(builder.AppendValues({0, 1, 2, 3, 4}).ok());
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("n", arrow::int64())}), 5,
                                        {builder.Finish().ValueOrDie()});
  batch.addresses.Append(std::make_shared<ShardRef>(ShardRef{"a", "x"}), 7, -1, 2);
  batch.addresses.Append(std::make_shared<ShardRef>(ShardRef{"b", "y"}), 0, -1, 3);
  return batch;
}

TEST(KeepRowsTest, CountsWhatGoesBySource) {
  const Batch out = KeepRows(TwoSources(), {1, 2}, "short").ValueOrDie();
  ASSERT_EQ(out.num_rows(), 2);
  EXPECT_EQ(out.addresses.At(0).row, 8);
  EXPECT_EQ(out.addresses.At(1).shard->source, "b");
  ASSERT_EQ(out.dropped.size(), 2u);
  EXPECT_EQ(out.dropped[0].source, "a");
  EXPECT_EQ(out.dropped[0].reason, "short");
  EXPECT_EQ(out.dropped[0].rows, 1);
  EXPECT_EQ(out.dropped[1].rows, 2);
}

TEST(KeepRowsTest, NamesTheFirstRowsThatGo) {
  const Batch out = KeepRows(TwoSources(), {1, 2}, "short").ValueOrDie();
  ASSERT_EQ(out.dropped[0].addresses.size(), 1u);
  EXPECT_EQ(out.dropped[0].addresses[0].ToString(), "sources[\"a\"] x row 7");
  ASSERT_EQ(out.dropped[1].addresses.size(), 2u);
  EXPECT_EQ(out.dropped[1].addresses[1].ToString(), "sources[\"b\"] y row 2");

  Batch many = TwoSources();
  many.addresses = Addresses(many.addresses.At(0).shard, 3, 5);
  many = KeepRows(many, {4}, "short").ValueOrDie();
  many = KeepRows(many, {}, "short").ValueOrDie();
  ASSERT_EQ(many.dropped.size(), 1u);
  EXPECT_EQ(many.dropped[0].rows, 5);
  ASSERT_EQ(many.dropped[0].addresses.size(), DropCount::kMostAddresses);
  EXPECT_EQ(many.dropped[0].addresses[4].row, 7);
}

TEST(KeepRowsTest, KeepingAllIsNoCopy) {
  const Batch in = TwoSources();
  const Batch out = KeepRows(in, {0, 1, 2, 3, 4}, "short").ValueOrDie();
  EXPECT_EQ(out.rows.get(), in.rows.get());
  EXPECT_TRUE(out.dropped.empty());
}

TEST(KeepRowsTest, OfEachIsAsOfOneByOne) {
  const Batch whole = TwoSources();
  const std::vector<Batch> batches = {whole.Slice(0, 2), whole.Slice(2, 2), TwoSources(),
                                      whole.Slice(4, 1)};
  const std::vector<std::vector<int64_t>> keep = {{1}, {0, 1}, {0, 1, 2, 3, 4}, {}};
  const auto out = KeepRowsOfEach(batches, keep, "short").ValueOrDie();
  ASSERT_EQ(out.size(), batches.size());
  for (size_t i = 0; i < batches.size(); ++i) {
    const Batch expected = KeepRows(batches[i], keep[i], "short").ValueOrDie();
    EXPECT_TRUE(out[i].rows->Equals(*expected.rows)) << i;
    ASSERT_EQ(out[i].addresses.size(), expected.addresses.size()) << i;
    for (int64_t row = 0; row < expected.num_rows(); ++row) {
      EXPECT_EQ(out[i].addresses.At(row).ToString(), expected.addresses.At(row).ToString()) << i;
    }
    ASSERT_EQ(out[i].dropped.size(), expected.dropped.size()) << i;
    for (size_t k = 0; k < expected.dropped.size(); ++k) {
      EXPECT_EQ(out[i].dropped[k].rows, expected.dropped[k].rows);
      EXPECT_EQ(out[i].dropped[k].source, expected.dropped[k].source);
    }
  }
  // All rows of slices of one stay where they are; others are copied together.
  EXPECT_EQ(out[2].rows.get(), batches[2].rows.get());
  EXPECT_EQ(out[0].rows->column_data(0)->buffers[1], out[1].rows->column_data(0)->buffers[1]);
}

TEST(KeepRowsTest, CountsOfOneReasonAreJoined) {
  const Batch once = KeepRows(TwoSources(), {0, 1, 2}, "short").ValueOrDie();
  const Batch twice = KeepRows(once, {0}, "short").ValueOrDie();
  ASSERT_EQ(twice.dropped.size(), 2u);
  EXPECT_EQ(twice.dropped[0].source, "b");
  EXPECT_EQ(twice.dropped[0].rows, 3);
  EXPECT_EQ(twice.dropped[1].source, "a");
  EXPECT_EQ(twice.dropped[1].rows, 1);
}

}  // namespace
}  // namespace easydata
