#include "easydata/transform/skip_stage.h"

#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

StageContract Skipping(int64_t batches, int64_t rows, int64_t skipped) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    return MakeSkipStage([=] { return NumberedRows(batches, rows); }, skipped);
  };
  return contract;
}

TEST(SkipStageTest, KeepsTheContract) {
  for (int64_t skipped : {0, 1, 5, 12, 20, 99}) CheckStageContract(Skipping(4, 5, skipped));
  CheckStageContract(Skipping(0, 0, 3));
}

TEST(SkipStageTest, LeavesOutTheFirstRows) {
  EXPECT_EQ(CountRows(Skipping(4, 5, 0)), 20);
  EXPECT_EQ(CountRows(Skipping(4, 5, 5)), 15);
  EXPECT_EQ(CountRows(Skipping(4, 5, 12)), 8);
  EXPECT_EQ(CountRows(Skipping(4, 5, 99)), 0);
}

}  // namespace
}  // namespace easydata::transform
