#include "operators/callable_op.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>

#include "easydata/stream/piecewise_op.h"
#include "easydata/stream/row_error.h"
#include "operators/embedded_python_for_tests.h"
#include "operators/rows.h"

namespace easydata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A batch of column "n": 0, 1, ... of shard "s".
Batch Numbers(int64_t rows) {
  RowColumns columns(Columns({{"n", ColumnKind::kAny}}));
  for (int64_t i = 0; i < rows; ++i) {
    nb::dict row;
    row["n"] = i;
    EXPECT_TRUE(columns.Append(row).ok());
  }
  Batch batch;
  batch.rows = columns.Finish().ValueOrDie();
  batch.addresses =
      Addresses(std::make_shared<const ShardRef>(ShardRef{.source = "", .shard = "s"}), 0, rows);
  return batch;
}

std::vector<std::string> TextsOf(const Batch& batch, const char* column) {
  std::vector<std::string> out;
  const auto values = batch.rows->GetColumnByName(column);
  for (int64_t i = 0; i < values->length(); ++i) {
    out.push_back(static_cast<const arrow::StringArray&>(*values).GetString(i));
  }
  return out;
}

struct Called {
  Owned owner;
  std::shared_ptr<const BatchOp> op;

  Called(const char* function, CallableKind kind, bool refuses = false) {
    op = CallableOp({{owner.Lend(Evaluated(function)), kind == CallableKind::kExpand, refuses}},
                    kind, Columns({{"t", ColumnKind::kText}}), "called");
  }
};

TEST(CallableOp, ARowBecomesARowOrGoes) {
  const Called called("lambda row: {'t': str(row['n'])} if row['n'] != 1 else None",
                      CallableKind::kMap);
  const Batch made = called.op->Apply(Numbers(3)).ValueOrDie();
  EXPECT_THAT(TextsOf(made, "t"), ElementsAre("0", "2"));
  EXPECT_EQ(made.addresses.At(1).row, 2);
}

TEST(CallableOp, ARowBecomesSeveral) {
  const Called called("lambda row: [{'t': 'x'}] * row['n']", CallableKind::kExpand);
  const Batch made = called.op->Apply(Numbers(3)).ValueOrDie();
  EXPECT_THAT(TextsOf(made, "t"), ElementsAre("x", "x", "x"));
  EXPECT_EQ(made.addresses.At(0).row, 1);
  EXPECT_EQ(made.addresses.At(2).row, 2);
}

TEST(CallableOp, AnErrorHasTheAddressOfItsRow) {
  const Called called("lambda row: {'t': str(1 // (row['n'] - 2))}", CallableKind::kMap);
  const Status status = called.op->Apply(Numbers(4)).status();
  ASSERT_NE(RowErrorAddress(status), nullptr);
  EXPECT_EQ(RowErrorAddress(status)->row, 2);
  EXPECT_THAT(status.message(), HasSubstr("ZeroDivisionError"));
}

std::vector<Batch> InPieces(const Batch& batch, int64_t rows) {
  std::vector<Batch> pieces;
  for (int64_t begin = 0; begin < batch.num_rows(); begin += rows) {
    pieces.push_back(batch.Slice(begin, rows));
  }
  return pieces;
}

TEST(CallableOp, PiecesAreWorkedOnAsByThemselves) {
  const std::vector<std::pair<const char*, CallableKind>> functions = {
      {"lambda row: {'t': str(row['n'])} if row['n'] % 5 else None", CallableKind::kMap},
      {"lambda row: [{'t': str(i)} for i in range(row['n'] % 4)]", CallableKind::kExpand},
      {"lambda row: row['n'] % 3 == 0", CallableKind::kFilter},
      {"lambda row: row['n'] < 40", CallableKind::kFilter},
  };
  for (const auto& [function, kind] : functions) {
    const Called called(function, kind);
    std::vector<Batch> pieces = InPieces(Numbers(100), 16);
    // What follows nothing in memory is converted by itself.
    for (Batch& piece : InPieces(Numbers(40), 20)) pieces.push_back(std::move(piece));
    const auto out = called.op->piecewise()->ApplyEach(pieces);
    ASSERT_EQ(out.size(), pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Batch expected = called.op->Apply(pieces[i]).ValueOrDie();
      ASSERT_TRUE(out[i].ok()) << out[i].status();
      EXPECT_TRUE(out[i]->rows->Equals(*expected.rows)) << function << " " << i;
      ASSERT_EQ(out[i]->addresses.size(), expected.addresses.size());
      for (int64_t row = 0; row < expected.num_rows(); ++row) {
        EXPECT_EQ(out[i]->addresses.At(row).ToString(), expected.addresses.At(row).ToString());
      }
      ASSERT_EQ(out[i]->dropped.size(), expected.dropped.size());
      if (!expected.dropped.empty()) {
        EXPECT_EQ(out[i]->dropped[0].rows, expected.dropped[0].rows);
      }
    }
  }
}

TEST(CallableOp, PiecesBeforeAnErrorKeepTheirRows) {
  for (const CallableKind kind :
       {CallableKind::kMap, CallableKind::kExpand, CallableKind::kFilter}) {
    // It raises, or returns what no column of text can hold.
    for (const std::string what : {"str(1 // (row['n'] - 37))", "'t' if row['n'] != 37 else 1"}) {
      const std::string row = "{'t': " + what + "}";
      const std::string function =
          "lambda row: " + (kind == CallableKind::kExpand   ? "[{'t': 'x'}, " + row + "]"
                            : kind == CallableKind::kFilter ? "1 // (row['n'] - 37) or True"
                                                            : row);
      const Called called(function.c_str(), kind);
      const auto out = called.op->piecewise()->ApplyEach(InPieces(Numbers(100), 16));
      ASSERT_EQ(out.size(), 3u);
      ASSERT_FALSE(out[2].ok());
      EXPECT_EQ(RowErrorAddress(out[2].status())->row, 37);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(out[i]->num_rows(), kind == CallableKind::kExpand ? 32 : 16);
        EXPECT_TRUE(out[i]->rows->ValidateFull().ok());
      }
    }
  }
}

TEST(CallableOp, ManyBytesAreGivenInSeveralColumns) {
  const Called called("lambda row: {'t': 'x' * 5_000_000}", CallableKind::kMap);
  const auto out = called.op->piecewise()->ApplyEach(InPieces(Numbers(12), 1));
  ASSERT_EQ(out.size(), 12u);
  const auto memory = [&](size_t i) { return out[i]->rows->column_data(0)->buffers[2]; };
  for (const auto& piece : out) EXPECT_EQ(TextsOf(*piece, "t")[0].size(), 5'000'000u);
  EXPECT_EQ(memory(0), memory(3));
  EXPECT_NE(memory(0), memory(4));
}

TEST(CallableOp, WithoutItsOwnersNothingIsCalled) {
  Called called("lambda row: {'t': ''}", CallableKind::kMap);
  called.owner.Clear();
  EXPECT_TRUE(called.op->Apply(Numbers(1)).status().IsCancelled());
}

}  // namespace
}  // namespace easydata
