#include "easydata/transform/limit_stage.h"

#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

StageContract Limited(int64_t batches, int64_t rows, int64_t max_rows) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto source, NumberedRows(batches, rows));
    return MakeLimitStage(std::move(source), max_rows);
  };
  return contract;
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
