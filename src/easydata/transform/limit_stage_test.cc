#include "easydata/transform/limit_stage.h"

#include "easydata/stream/memory_stage.h"
#include "easydata/stream/stage_contract.h"
#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

StageContract Limited(int64_t batches, int64_t rows, int64_t max_rows) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    std::vector<std::shared_ptr<arrow::RecordBatch>> all;
    for (int64_t b = 0; b < batches; ++b) {
      std::vector<int64_t> values;
      for (int64_t r = 0; r < rows; ++r) values.push_back(b * rows + r);
      all.push_back(TestRows().Ints("n", values).Make().rows);
    }
    ARROW_ASSIGN_OR_RAISE(
        auto source,
        MakeMemoryStage(all, arrow::schema({arrow::field("n", arrow::int64())}), "data", "memory"));
    return MakeLimitStage(std::move(source), max_rows);
  };
  return contract;
}

int64_t CountRows(const StageContract& contract) {
  auto stage = contract.make({}).ValueOrDie();
  int64_t rows = 0;
  while (auto batch = stage->Next().ValueOrDie()) rows += batch->num_rows();
  return rows;
}

TEST(LimitStageTest, KeepsTheContract) {
  for (int64_t max_rows : {0, 1, 5, 12, 20, 99}) CheckStageContract(Limited(4, 5, max_rows));
  CheckStageContract(Limited(0, 0, 3));
  CheckStageContract(Limited(3, 0, 3));
}

TEST(LimitStageTest, GivesTheFirstRows) {
  EXPECT_EQ(CountRows(Limited(4, 5, 0)), 0);
  EXPECT_EQ(CountRows(Limited(4, 5, 5)), 5);
  EXPECT_EQ(CountRows(Limited(4, 5, 12)), 12);
  EXPECT_EQ(CountRows(Limited(4, 5, 99)), 20);
}

TEST(LimitStageTest, NegativeLimitIsRefused) {
  EXPECT_TRUE(MakeLimitStage(nullptr, -1).status().IsInvalid());
}

}  // namespace
}  // namespace easydata::transform
