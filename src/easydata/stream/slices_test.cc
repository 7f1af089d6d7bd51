#include "easydata/stream/slices.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

namespace easydata {
namespace {

/// 200 rows of text, lists, structs, numbers, nulls alone and dictionary codes, some of them null.
Batch ManyColumns() {
  const auto point = arrow::struct_({arrow::field("x", arrow::int8())});
  const auto codes = arrow::dictionary(arrow::int8(), arrow::utf8());
  const arrow::FieldVector fields = {
      arrow::field("text", arrow::utf8()),
      arrow::field("list", arrow::list(arrow::int32())),
      arrow::field("point", point),
      arrow::field("n", arrow::int64()),
      arrow::field("nothing", arrow::null()),
      arrow::field("code", codes),
      arrow::field("is_odd", arrow::boolean()),
  };
  std::vector<std::string> columns(fields.size(), "[");
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    const std::vector<std::string> row = {
        i % 7 == 0 ? "null" : "\"text " + n + "\"",
        i % 5 == 0 ? "null" : "[" + n + ", 1]",
        i % 3 == 0 ? "null" : "{\"x\": " + std::to_string(i % 100) + "}",
        n,
        "null",
        i % 2 == 0 ? "0" : "1",
        i % 2 == 1 ? "true" : "false",
    };
    for (size_t c = 0; c < row.size(); ++c) columns[c] += (i == 0 ? "" : ", ") + row[c];
  }
  arrow::ArrayVector arrays;
  for (size_t c = 0; c < fields.size(); ++c) {
    const std::string json = columns[c] + "]";
    arrays.push_back(
        fields[c]->name() == "code"
            ? arrow::json::DictArrayFromJSONString(codes, json, R"(["even", "odd"])").ValueOrDie()
            : arrow::json::ArrayFromJSONString(fields[c]->type(), json).ValueOrDie());
  }
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(arrow::schema(fields), 200, std::move(arrays));
  batch.addresses = Addresses(std::make_shared<const ShardRef>(ShardRef{"", "s"}), 0, 200);
  return batch;
}

std::vector<Batch> Cut(const Batch& batch, const std::vector<int64_t>& ends) {
  std::vector<Batch> out;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    out.push_back(batch.Slice(begin, end - begin));
    begin = end;
  }
  return out;
}

TEST(SlicesTest, SlicesOfOneAreOneAgain) {
  const Batch whole = ManyColumns();
  std::vector<Batch> pieces = Cut(whole, {10, 64, 64, 65, 128});
  // A slice that has counted its own nulls says nothing of the others.
  for (const Batch& piece : pieces) EXPECT_TRUE(piece.rows->Validate().ok());
  pieces.insert(pieces.begin(), whole.Slice(0, 0));
  for (int c = 0; c < 7; ++c) EXPECT_EQ(pieces[0].rows->column(c)->null_count(), 0);
  pieces[2].dropped.push_back({"s", "short", 3});
  const std::vector<Batch> joined = JoinSlices(std::move(pieces));
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_TRUE(joined[0].rows->ValidateFull().ok());
  EXPECT_TRUE(joined[0].rows->Equals(*whole.rows->Slice(0, 128)));
  for (int c = 0; c < 7; ++c) {
    EXPECT_EQ(joined[0].rows->column(c)->null_count(),
              whole.rows->Slice(0, 128)->column(c)->null_count());
  }
  EXPECT_EQ(joined[0].rows->column_data(0)->buffers[2], whole.rows->column_data(0)->buffers[2]);
  EXPECT_EQ(joined[0].addresses.size(), 128);
  EXPECT_EQ(joined[0].addresses.At(127).row, 127);
  ASSERT_EQ(joined[0].dropped.size(), 1u);
  EXPECT_EQ(joined[0].dropped[0].rows, 3);
}

TEST(SlicesTest, OthersStayApart) {
  const Batch whole = ManyColumns();
  const Batch other = ManyColumns();
  const std::vector<Batch> batches = {whole.Slice(0, 10),  whole.Slice(11, 9),
                                      whole.Slice(20, 5),  other.Slice(25, 5),
                                      other.Slice(0, 100), other.Slice(100, 100)};
  const std::vector<Batch> joined = JoinSlices(batches);
  std::vector<int64_t> sizes;
  for (const Batch& batch : joined) sizes.push_back(batch.num_rows());
  EXPECT_EQ(sizes, (std::vector<int64_t>{10, 14, 5, 200}));
  EXPECT_TRUE(joined[1].rows->Equals(*whole.rows->Slice(11, 14)));
  EXPECT_TRUE(joined[3].rows->Equals(*other.rows));
}

TEST(SlicesTest, ColumnsThatDoNotAllGoOnAreNotJoined) {
  const Batch whole = ManyColumns();
  Batch second = whole.Slice(10, 10);
  second.rows =
      second.rows->SetColumn(3, whole.rows->schema()->field(3), whole.rows->column(3)->Slice(0, 10))
          .ValueOrDie();
  EXPECT_EQ(JoinSlices({whole.Slice(0, 10), second}).size(), 2u);
}

TEST(SlicesTest, ConcatenatedSlicesAreNotCopied) {
  const Batch whole = ManyColumns();
  const Batch joined = ConcatenateBatches(Cut(whole, {64, 128, 192, 200})).ValueOrDie();
  EXPECT_TRUE(joined.rows->Equals(*whole.rows));
  EXPECT_EQ(joined.rows->column_data(0)->buffers[2], whole.rows->column_data(0)->buffers[2]);
  // Of several, what can be joined is copied as one.
  std::vector<Batch> mixed = Cut(whole, {64, 128});
  mixed.push_back(ManyColumns().Slice(0, 3));
  const Batch copied = ConcatenateBatches(mixed).ValueOrDie();
  EXPECT_EQ(copied.num_rows(), 131);
  EXPECT_TRUE(copied.rows->ValidateFull().ok());
  EXPECT_TRUE(copied.rows->Slice(0, 128)->Equals(*whole.rows->Slice(0, 128)));
}

}  // namespace
}  // namespace easydata
