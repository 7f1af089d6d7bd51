#include "easydata/order/repeat_stage.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "easydata/stream/memory_stage.h"
#include "easydata/stream/stage_contract.h"

namespace easydata::order {
namespace {

/// Four batches of two rows that hold the epoch.
StageFactory Epochs(int batches = 4) {
  return [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    auto schema = arrow::schema({arrow::field("epoch", arrow::int64())});
    std::vector<std::shared_ptr<arrow::RecordBatch>> out;
    for (int b = 0; b < batches; ++b) {
      arrow::Int64Builder builder;
      ARROW_RETURN_NOT_OK(builder.AppendValues({context.epoch, context.epoch}));
      out.push_back(arrow::RecordBatch::Make(schema, 2, {builder.Finish().ValueOrDie()}));
    }
    return MakeMemoryStage(out, schema, "s", "m");
  };
}

TEST(RepeatStageTest, KeepsTheContract) {
  for (int64_t passes : {1, 3}) {
    for (int batches : {0, 1, 4}) {
      StageContract contract;
      contract.make = [=](const StageContext& context) {
        return MakeRepeatStage(Epochs(batches), passes, context);
      };
      contract.finds_rows = false;
      CheckStageContract(contract);
    }
  }
}

TEST(RepeatStageTest, EachPassIsTheNextEpoch) {
  auto stage = MakeRepeatStage(Epochs(), 3, StageContext{5, nullptr}).ValueOrDie();
  for (int64_t i = 0; i < 12; ++i) {
    auto batch = stage->Next().ValueOrDie();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(static_cast<const arrow::Int64Array&>(*batch->rows->column(0)).Value(0), 15 + i / 4);
  }
  EXPECT_FALSE(stage->Next().ValueOrDie().has_value());
}

TEST(RepeatStageTest, AddressesTellThePass) {
  auto stage = MakeRepeatStage(Epochs(1), 3, StageContext{5, nullptr}).ValueOrDie();
  for (int64_t pass = 0; pass < 3; ++pass) {
    auto batch = stage->Next().ValueOrDie();
    ASSERT_TRUE(batch.has_value());
    const Address first = batch->addresses.At(0);
    EXPECT_EQ(first.shard->epoch, 15 + pass);
    EXPECT_EQ(first.ToString(), "sources[\"s\"] m row 0");
  }
}

TEST(RepeatStageTest, GoesOnForEver) {
  auto stage = MakeRepeatStage(Epochs(1), std::nullopt, {}).ValueOrDie();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(stage->Next().ValueOrDie().has_value());
}

TEST(RepeatStageTest, AnEmptyStreamForEverIsAnError) {
  auto stage = MakeRepeatStage(Epochs(0), std::nullopt, {}).ValueOrDie();
  EXPECT_TRUE(stage->Next().status().IsInvalid());
  EXPECT_FALSE(MakeRepeatStage(Epochs(), 0, {}).ok());
}

}  // namespace
}  // namespace easydata::order
