#include "easydata/transform/skip_stage.h"

#include "easydata/stream/memory_stage.h"
#include "easydata/stream/stage_contract.h"
#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

StageContract Skipping(int64_t batches, int64_t rows, int64_t skipped) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    std::vector<std::shared_ptr<arrow::RecordBatch>> all;
    for (int64_t b = 0; b < batches; ++b) {
      std::vector<int64_t> values;
      for (int64_t r = 0; r < rows; ++r) values.push_back(b * rows + r);
      all.push_back(TestRows().Ints("n", values).Make().rows);
    }
    const auto schema = arrow::schema({arrow::field("n", arrow::int64())});
    return MakeSkipStage([=] { return MakeMemoryStage(all, schema, "data", "memory"); }, skipped);
  };
  return contract;
}

int64_t RowsLeftOf(const StageContract& contract) {
  auto stage = contract.make({}).ValueOrDie();
  int64_t rows = 0;
  while (auto batch = stage->Next().ValueOrDie()) rows += batch->num_rows();
  return rows;
}

TEST(SkipStageTest, KeepsTheContract) {
  for (int64_t skipped : {0, 1, 5, 12, 20, 99}) CheckStageContract(Skipping(4, 5, skipped));
  CheckStageContract(Skipping(0, 0, 3));
}

TEST(SkipStageTest, LeavesOutTheFirstRows) {
  EXPECT_EQ(RowsLeftOf(Skipping(4, 5, 0)), 20);
  EXPECT_EQ(RowsLeftOf(Skipping(4, 5, 5)), 15);
  EXPECT_EQ(RowsLeftOf(Skipping(4, 5, 12)), 8);
  EXPECT_EQ(RowsLeftOf(Skipping(4, 5, 99)), 0);
}

}  // namespace
}  // namespace easydata::transform
