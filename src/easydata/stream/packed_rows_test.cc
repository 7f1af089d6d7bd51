#include "easydata/stream/packed_rows.h"

#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "easydata/stream/keep_rows.h"
#include "easydata/stream/row_error.h"

namespace easydata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Three packed rows: document 0 of a and the beginning of document 7 of b; its rest; nothing.
Batch ThreeRows() {
  arrow::Int64Builder numbers;
  EXPECT_TRUE(numbers.AppendValues({0, 1, 2}).ok());
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("n", arrow::int64())}), 3,
                                        {*numbers.Finish()});
  const auto a = std::make_shared<const ShardRef>(ShardRef{"a", "a.jsonl"});
  const auto b = std::make_shared<const ShardRef>(ShardRef{"b", "b.jsonl"});
  auto spans = std::make_shared<SpanTable>();
  spans->spans = {{{a, 0}, 0, 0, 5}, {{b, 7}, 0, 5, 3}, {{b, 7}, 3, 0, 8}};
  spans->row_starts = {0, 2, 3, 3};
  batch.spans = std::move(spans);
  batch.dropped = {{"a", "truncated", 1, 4}};
  return batch;
}

TEST(PackedRowsTest, SpansGoWithTheirRows) {
  Batch batch = ThreeRows();
  const PackedRows packed(&batch);
  ASSERT_EQ(batch.addresses.size(), 3);
  EXPECT_EQ(batch.spans, nullptr);
  AppliedBatch applied{KeepRows(batch, {1, 2}, "filter").ValueOrDie(), Status::OK(), 0};
  packed.TakeBack(&applied);
  EXPECT_EQ(applied.batch.addresses.size(), 0);
  ASSERT_NE(applied.batch.spans, nullptr);
  EXPECT_THAT(applied.batch.spans->row_starts, ElementsAre(0, 1, 1));
  EXPECT_EQ(applied.batch.spans->spans[0].document.row, 7);
  EXPECT_EQ(applied.batch.spans->spans[0].document_offset, 3);
}

TEST(PackedRowsTest, WhatIsDroppedCountsForTheSourcesOfItsDocuments) {
  Batch batch = ThreeRows();
  const PackedRows packed(&batch);
  AppliedBatch applied{KeepRows(batch, {2}, "filter").ValueOrDie(), Status::OK(), 0};
  packed.TakeBack(&applied);
  std::vector<std::string> counts;
  for (const DropCount& count : applied.batch.dropped) {
    counts.push_back(count.source + " " + count.reason + " " + std::to_string(count.rows) + " " +
                     std::to_string(count.tokens));
  }
  // Row 0 begins with a document of a, row 1 with one of b; what came before stays as it was.
  EXPECT_THAT(counts, ElementsAre("a truncated 1 4", "a filter 1 5", "b filter 1 11"));
}

TEST(PackedRowsTest, ErrorsNameTheFirstDocumentOfTheRow) {
  Batch batch = ThreeRows();
  const PackedRows packed(&batch);
  AppliedBatch applied;
  applied.error = RowError(batch.addresses.At(1), "no");
  packed.TakeBack(&applied);
  EXPECT_EQ(applied.error.message(), "sources[\"b\"] b.jsonl row 7: no");
  // One that is not about a row stays as it is.
  applied.error = Status::Invalid("closed");
  packed.TakeBack(&applied);
  EXPECT_EQ(applied.error.message(), "closed");
}

TEST(PackedRowsTest, BatchesTakeAndNameThem) {
  const Batch batch = ThreeRows();
  const Batch taken = batch.Take({1, 0}).ValueOrDie();
  EXPECT_THAT(taken.spans->row_starts, ElementsAre(0, 1, 3));
  EXPECT_EQ(taken.AddressOf(0).row, 7);
  EXPECT_EQ(taken.AddressOf(1).shard->source, "a");
  EXPECT_EQ(batch.AddressOf(2).shard, nullptr);
  EXPECT_THAT(batch.AddressOf(2).ToString(), HasSubstr("row 2"));
}

}  // namespace
}  // namespace easydata
