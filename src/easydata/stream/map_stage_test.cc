#include "easydata/stream/map_stage.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "easydata/stream/memory_stage.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_contract.h"

namespace easydata {
namespace {

std::vector<std::shared_ptr<arrow::RecordBatch>> Numbers(int batches, int rows) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> out;
  auto schema = arrow::schema({arrow::field("n", arrow::int64())});
  int64_t next = 0;
  for (int b = 0; b < batches; ++b) {
    arrow::Int64Builder builder;
    for (int i = 0; i < rows; ++i) EXPECT_TRUE(builder.Append(next++).ok());
    out.push_back(arrow::RecordBatch::Make(schema, rows, {builder.Finish().ValueOrDie()}));
  }
  return out;
}

/// Keeps even numbers; fails on `bad`; sleeps for a time that depends on the batch.
class EvenNumbers : public BatchOp {
 public:
  explicit EvenNumbers(int64_t bad = -1) : bad_(bad) {}
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    const auto& numbers = static_cast<const arrow::Int64Array&>(*batch.rows->column(0));
    std::vector<int64_t> keep;
    for (int64_t i = 0; i < numbers.length(); ++i) {
      if (numbers.Value(i) == bad_) return RowError(batch.addresses.At(i), "a bad number");
      if (numbers.Value(i) % 2 == 0) keep.push_back(i);
    }
    if (numbers.length() > 0) usleep((numbers.Value(0) * 7919) % 500);
    return batch.Take(keep);
  }

 private:
  int64_t bad_;
};

StageContract Contract(int batches, int rows, int64_t bad = -1) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    auto numbers = Numbers(batches, rows);
    ARROW_ASSIGN_OR_RAISE(
        auto source,
        MakeMemoryStage(numbers, arrow::schema({arrow::field("n", arrow::int64())}), "n", "m"));
    return MakeMapStage(std::move(source), std::make_shared<EvenNumbers>(bad), context);
  };
  return contract;
}

TEST(MapStageTest, KeepsTheContract) { CheckStageContract(Contract(20, 5)); }
TEST(MapStageTest, KeepsTheContractForRowsOfOne) { CheckStageContract(Contract(7, 1)); }
TEST(MapStageTest, KeepsTheContractWhenEmpty) { CheckStageContract(Contract(0, 5)); }
TEST(MapStageTest, KeepsTheContractForEmptyBatches) { CheckStageContract(Contract(3, 0)); }

TEST(MapStageTest, ErrorComesAfterTheRowsBeforeItWithItsAddress) {
  // 0, 2, ..., 50: also those before it in its own batch.
  const Status error = CheckErrorContract(Contract(20, 5, 52), 26);
  EXPECT_NE(error.message().find("sources[\"n\"] m row 52: a bad number"), std::string::npos)
      << error;
}

TEST(MapStageTest, OpsAreFusedIntoOneParallelMap) {
  StageContext context;
  auto stage = Contract(4, 4).make(context).ValueOrDie();
  Stage* before = stage.get();
  auto fused =
      MakeMapStage(std::move(stage), std::make_shared<EvenNumbers>(), context).ValueOrDie();
  EXPECT_EQ(fused.get(), before);
}

}  // namespace
}  // namespace easydata
