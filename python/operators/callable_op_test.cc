#include "operators/callable_op.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>

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

TEST(CallableOp, WithoutItsOwnersNothingIsCalled) {
  Called called("lambda row: {'t': ''}", CallableKind::kMap);
  called.owner.Clear();
  EXPECT_TRUE(called.op->Apply(Numbers(1)).status().IsCancelled());
}

}  // namespace
}  // namespace easydata
