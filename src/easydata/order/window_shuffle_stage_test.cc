#include "easydata/order/window_shuffle_stage.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "easydata/base/random.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_contract.h"

namespace easydata::order {
namespace {

/// Fails on one number.
class NoSuchNumber : public BatchOp {
 public:
  explicit NoSuchNumber(int64_t bad) : bad_(bad) {}
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    const auto& numbers = static_cast<const arrow::Int64Array&>(*batch.rows->column(0));
    for (int64_t i = 0; i < numbers.length(); ++i) {
      if (numbers.Value(i) == bad_) return RowError(batch.addresses.At(i), "a bad number");
    }
    return batch;
  }

 private:
  int64_t bad_;
};

StageContract Contract(const WindowShuffleOptions& options, int64_t rows, int64_t batch_rows,
                       int64_t epoch = 0, std::shared_ptr<const BatchOp> op = nullptr) {
  StageContract contract;
  contract.finds_rows = false;
  contract.make = [=](StageContext context) -> Result<std::unique_ptr<Stage>> {
    auto schema = arrow::schema({arrow::field("n", arrow::int64())});
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (int64_t start = 0; start < rows; start += batch_rows) {
      arrow::Int64Builder builder;
      const int64_t end = std::min(rows, start + batch_rows);
      for (int64_t n = start; n < end; ++n) ARROW_RETURN_NOT_OK(builder.Append(n));
      batches.push_back(
          arrow::RecordBatch::Make(schema, end - start, {builder.Finish().ValueOrDie()}));
      if (start % 3 == 0) batches.push_back(batches.back()->Slice(0, 0));
    }
    ARROW_ASSIGN_OR_RAISE(auto source, MakeMemoryStage(batches, schema, "s", "m"));
    if (op != nullptr) {
      ARROW_ASSIGN_OR_RAISE(source, MakeMapStage(std::move(source), op, context));
    }
    context.epoch = epoch;
    return MakeWindowShuffleStage(std::move(source), options, context);
  };
  return contract;
}

std::vector<int64_t> Numbers(const StageContract& contract,
                             std::shared_ptr<exec::ThreadPool> pool = nullptr) {
  std::vector<int64_t> out;
  StageContext context;
  context.pool = std::move(pool);
  auto stage = contract.make(context).ValueOrDie();
  for (;;) {
    auto batch = stage->Next().ValueOrDie();
    if (!batch.has_value()) return out;
    const auto& numbers = static_cast<const arrow::Int64Array&>(*batch->rows->column(0));
    for (int64_t i = 0; i < numbers.length(); ++i) {
      EXPECT_EQ(batch->addresses.At(i).row, numbers.Value(i));
      out.push_back(numbers.Value(i));
    }
  }
}

WindowShuffleOptions Options(int64_t rows, int64_t rows_per_batch = 7) {
  WindowShuffleOptions options;
  options.rows = rows;
  options.rows_per_batch = rows_per_batch;
  options.seed = 5;
  return options;
}

TEST(WindowShuffleStageTest, KeepsTheContract) {
  CheckStageContract(Contract(Options(20), 103, 9));
  CheckStageContract(Contract(Options(1000), 103, 9));
  CheckStageContract(Contract(Options(1), 10, 9));
  CheckStageContract(Contract(Options(20), 1, 9));
  CheckStageContract(Contract(Options(20), 0, 9));
  CheckStageContract(Contract(Options(20, 1), 60, 20));
  CheckStageContract(Contract(Options(9, 9), 81, 9));
  // Batches of any size: of a window, or, where windows are small, of several.
  CheckStageContract(Contract(Options(700, 0), 3000, 90));
  CheckStageContract(Contract(Options(300, 0), 3000, 90));
  CheckStageContract(Contract(Options(4000, 0), 3000, 90));
  WindowShuffleOptions bytes = Options(1000);
  bytes.bytes = 80;
  CheckStageContract(Contract(bytes, 103, 9));
}

TEST(WindowShuffleStageTest, RowsAreGatheredByWhoAskedForIt) {
  for (const WindowShuffleOptions& options : {Options(20), Options(9, 9), Options(300, 0)}) {
    const StageContract contract = Contract(options, 1000, 9);
    auto direct = contract.make({}).ValueOrDie();
    auto left = contract.make({}).ValueOrDie();
    EXPECT_TRUE(left->SkipGathering());
    std::vector<std::string> expected;
    std::vector<Batch> batches;
    for (;;) {
      auto batch = direct->Next().ValueOrDie();
      auto other = left->Next().ValueOrDie();
      ASSERT_EQ(batch.has_value(), other.has_value());
      if (!batch.has_value()) break;
      EXPECT_EQ(left->Save().ToJson(), direct->Save().ToJson());
      EXPECT_EQ(other->rows, nullptr);
      EXPECT_EQ(other->num_rows(), batch->num_rows());
      for (std::string& row : DescribeRows(*batch)) expected.push_back(std::move(row));
      batches.push_back(*std::move(other));
    }
    // Batches outlive the stage.
    const auto schema = left->schema();
    left.reset();
    std::vector<std::string> gathered;
    for (const Batch& batch : batches) {
      const UngatheredRows& rows = *batch.ungathered;
      const Batch whole = GatherRows(rows.parts, rows.rows, schema).ValueOrDie();
      for (std::string& row : DescribeRows(whole)) gathered.push_back(std::move(row));
    }
    EXPECT_EQ(gathered, expected);
  }
}

TEST(WindowShuffleStageTest, KeepsTheContractInFrontOfAMap) {
  for (const WindowShuffleOptions& options : {Options(20), Options(300, 0)}) {
    StageContract contract = Contract(options, 700, 90);
    const auto rows = Numbers(contract);
    contract.make =
        [make = contract.make](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
      ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
      return MakeMapStage(std::move(stage), std::make_shared<NoSuchNumber>(-1), context);
    };
    CheckStageContract(contract);
    EXPECT_EQ(Numbers(contract, std::make_shared<exec::ThreadPool>(2)), rows);
  }
}

TEST(WindowShuffleStageTest, BucketsKeepTheContract) {
  for (int64_t rows : {0, 1, 60, 103}) {
    WindowShuffleOptions options = Options(20);
    options.bucket_rows = 5;
    CheckStageContract(Contract(options, rows, 9));
    options.bytes = 80;  // 10 rows
    CheckStageContract(Contract(options, rows, 9));
  }
}

TEST(WindowShuffleStageTest, WindowsThatAreFullOfBytesHaveWholeBuckets) {
  WindowShuffleOptions options = Options(1000);
  options.bucket_rows = 10;
  options.bytes = 8 * 15;
  const auto numbers = Numbers(Contract(options, 103, 9));
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(numbers[i] / 20, i / 20) << i;
  options.bucket_rows = 7;
  EXPECT_FALSE(Contract(options, 3, 3).make({}).ok());
}

TEST(WindowShuffleStageTest, AnErrorLeavesThePositionOfItsWindow) {
  const auto op = std::make_shared<NoSuchNumber>(57);
  for (int64_t rows : {1, 20, 1000}) {
    const StageContract contract = Contract(Options(rows), 103, 9, 0, op);
    EXPECT_FALSE(CheckErrorContract(contract, 57 / rows * rows).ok()) << rows;
  }
}

TEST(WindowShuffleStageTest, PermutesWithinWindowsOnly) {
  const auto numbers = Numbers(Contract(Options(20), 103, 9));
  ASSERT_EQ(numbers.size(), 103u);
  for (int64_t window = 0; window < 6; ++window) {
    const int64_t size = std::min<int64_t>(20, 103 - window * 20);
    const auto order = WindowOrder(5, 0, window, size);
    for (int64_t i = 0; i < size; ++i) {
      ASSERT_EQ(numbers[window * 20 + i], window * 20 + order[i]);
    }
  }
}

TEST(WindowShuffleStageTest, WindowEdgesDoNotDependOnHowRowsArrive) {
  const auto numbers = Numbers(Contract(Options(20), 103, 9));
  for (int64_t batch_rows : {1, 20, 103}) {
    EXPECT_EQ(Numbers(Contract(Options(20, 1 + batch_rows), 103, batch_rows)), numbers);
  }
  WindowShuffleOptions bytes = Options(1000);
  bytes.bytes = 160;  // 20 rows of 8 bytes
  EXPECT_EQ(Numbers(Contract(bytes, 103, 13)), numbers);
}

TEST(WindowShuffleStageTest, WindowsAreBoundedByTheConsumersSteps) {
  WindowShuffleOptions options = Options(1000);
  options.most_steps = 4;
  const auto in_steps_of = [&](int64_t rows, int64_t lanes) {
    StageContract contract = Contract(options, 103, 9);
    contract.make = [make = contract.make, rows, lanes](StageContext context) {
      if (rows > 0) context.demand.step_rows = {{0, rows}};
      context.lanes = lanes;
      return make(context);
    };
    return contract;
  };
  const StageContract by_five = in_steps_of(5, 1);
  CheckStageContract(by_five);
  EXPECT_EQ(Numbers(by_five), Numbers(Contract(Options(20), 103, 9)));
  EXPECT_EQ(Numbers(in_steps_of(10, 2)), Numbers(by_five));
  EXPECT_EQ(Numbers(in_steps_of(0, 1)), Numbers(Contract(Options(4), 103, 9)));
  EXPECT_EQ(Numbers(in_steps_of(1000, 1)), Numbers(Contract(Options(1000), 103, 9)));

  // A window that was begun with another bound keeps it.
  auto stage = by_five.make({}).ValueOrDie();
  ASSERT_TRUE(stage->Next().ValueOrDie().has_value());
  const nlohmann::json saved = stage->Save().ToJson();
  auto unbounded = Contract(Options(1000), 103, 9).make({}).ValueOrDie();
  ASSERT_TRUE(unbounded->Restore(saved).ok());
  const auto expected = stage->Next().ValueOrDie();
  const auto given = unbounded->Next().ValueOrDie();
  ASSERT_TRUE(expected.has_value() && given.has_value());
  EXPECT_TRUE(given->rows->Slice(0, 7)->Equals(*expected->rows->Slice(0, 7)));
}

TEST(WindowShuffleStageTest, D32EveryEpochHasItsOwnOrder) {
  EXPECT_NE(Numbers(Contract(Options(50), 50, 9, 0)), Numbers(Contract(Options(50), 50, 9, 1)));
  EXPECT_EQ(Numbers(Contract(Options(50), 50, 9, 1)), Numbers(Contract(Options(50), 50, 9, 1)));
}

TEST(WindowShuffleStageTest, RefusesEmptyWindows) {
  EXPECT_FALSE(Contract(Options(0), 3, 3).make({}).ok());
  EXPECT_FALSE(Contract(Options(3, -1), 3, 3).make({}).ok());
}

}  // namespace
}  // namespace easydata::order
