// What plans know of their streams: whether these end, are packed, carry on.

#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/mix/mix_stage.h"
#include "easydata/order/repeat_stage.h"
#include "easydata/plan/limit_plan.h"
#include "easydata/plan/load_plan.h"
#include "easydata/plan/packed_plan.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/transform/column_op.h"

namespace easydata::plan {
namespace {

using testing::HasSubstr;

/// Documents of `lengths` tokens, all of them `token`.
StreamPlan Documents(const std::vector<int>& lengths, int32_t token = 7) {
  const auto ids = std::make_shared<arrow::Int32Builder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), ids);
  for (int length : lengths) {
    EXPECT_TRUE(lists.Append().ok());
    for (int i = 0; i < length; ++i) EXPECT_TRUE(ids->Append(token).ok());
  }
  const auto schema = arrow::schema({arrow::field("input_ids", arrow::list(arrow::int32()))});
  const auto rows = static_cast<int64_t>(lengths.size());
  const std::vector<std::shared_ptr<arrow::RecordBatch>> batches{
      arrow::RecordBatch::Make(schema, rows, {lists.Finish().ValueOrDie()})};
  StreamPlan plan;
  auto node = MakeNode("source", {{"token", token}});
  node->facts.finitude = Finitude::kFinite;
  plan.node = std::move(node);
  plan.make = [batches, schema](const StageContext&) {
    return MakeMemoryStage(batches, schema, "memory", "rows");
  };
  return plan;
}

StreamPlan FactsMix(const std::vector<StreamPlan>& sources, mix::StopStrategy stop,
                    std::vector<double> weights = {}) {
  mix::MixOptions options;
  for (size_t i = 0; i < sources.size(); ++i) options.names.push_back(std::string(1, 'a' + i));
  options.stop = stop;
  options.weights = std::move(weights);
  return mix::MixPlan(sources, options).ValueOrDie();
}

/// The stream with an operation on one column downstream of it.
StreamPlan WorkOnColumn(const StreamPlan& upstream, const char* op, const char* column) {
  return transform::ColumnOpPlan(upstream, op, {{"fields", {column}}}).ValueOrDie();
}

PackedOptions Packing() {
  PackedOptions options;
  options.pack.seq_length = 8;
  options.pack.eos_token_id = 2;
  options.shuffle = false;
  return options;
}

TEST(PlanFactsTest, WhetherAMixEndsGoesByItsSources) {
  const StreamPlan finite = Documents({1, 2});
  const StreamPlan endless = FactsMix({finite}, mix::StopStrategy::kRestart);
  EXPECT_TRUE(endless.facts().is_endless());
  EXPECT_THAT(endless.facts().why_endless, HasSubstr("stop_strategy"));
  const auto of = [&](mix::StopStrategy stop, std::vector<double> weights = {}) {
    return FactsMix({finite, endless}, stop, std::move(weights)).facts().finitude;
  };
  EXPECT_EQ(of(mix::StopStrategy::kFirstExhausted), Finitude::kFinite);
  EXPECT_EQ(of(mix::StopStrategy::kAllExhausted), Finitude::kEndless);
  EXPECT_EQ(of(mix::StopStrategy::kRestart), Finitude::kEndless);
  // A source that is never drawn from decides nothing.
  EXPECT_EQ(of(mix::StopStrategy::kAllExhausted, {1, 0}), Finitude::kFinite);
  EXPECT_EQ(of(mix::StopStrategy::kFirstExhausted, {0, 1}), Finitude::kEndless);
}

TEST(PlanFactsTest, ALimitEnds) {
  const StreamPlan endless = FactsMix({Documents({1})}, mix::StopStrategy::kRestart);
  const StreamPlan limited = LimitPlan(endless, 5).ValueOrDie();
  EXPECT_EQ(limited.facts().finitude, Finitude::kFinite);
  EXPECT_TRUE(WorkOnColumn(endless, "select", "input_ids").facts().is_endless());
  EXPECT_TRUE(order::RepeatPlan(limited, std::nullopt).ValueOrDie().facts().is_endless());
  EXPECT_FALSE(order::RepeatPlan(limited, 3).ValueOrDie().facts().is_endless());
  EXPECT_TRUE(LimitPlan(endless, -1).status().IsInvalid());
}

TEST(PlanFactsTest, PackedRowsStayPacked) {
  const StreamPlan packed = PackedPlan(Documents({3, 4, 5}), Packing()).ValueOrDie();
  const StreamPlan dropped = WorkOnColumn(packed, "drop", "attention_mask");
  for (const StreamPlan& plan : {packed, dropped}) {
    EXPECT_TRUE(plan.facts().is_packed);
    EXPECT_TRUE(plan.facts().carries_passes);
    LoadOptions options;
    options.bucket_batches = 4;
    EXPECT_THAT(MakeLoader(plan, options).status().message(), HasSubstr("packed rows are all"));
  }
  EXPECT_FALSE(LimitPlan(packed, 2).ValueOrDie().facts().carries_passes);
}

TEST(PlanFactsTest, APackerCarriesOnThroughWhatLiesBetween) {
  const StreamPlan packed = PackedPlan(Documents({3, 4}), Packing()).ValueOrDie();
  for (const StreamPlan& plan : {packed, WorkOnColumn(packed, "drop", "position_ids")}) {
    LoadOptions options;
    options.loader.steps.batch_size = 1;
    options.loader.steps.passes = 8;  // 8 passes over 7 tokens and 2 EOS: 72, 9 rows
    auto loader = MakeLoader(plan, options).ValueOrDie();
    int rows = 0;
    while (loader->Take().ValueOrDie().has_value()) ++rows;
    EXPECT_EQ(rows, 9);
  }
}

TEST(PlanFactsTest, DocumentsWithoutTokensBehindALimitAreAnError) {
  const StreamPlan limited = LimitPlan(Documents({0, 0, 0}), 3).ValueOrDie();
  LoadOptions options;
  options.loader.steps.batch_size = 1;
  options.loader.steps.steps = 3;
  auto loader = MakeLoader(PackedPlan(limited, Packing()).ValueOrDie(), options).ValueOrDie();
  EXPECT_TRUE(loader->Take().status().IsInvalid());
}

TEST(PlanFactsTest, BalancedRowsReachTheLoaderAsTheyAre) {
  PackedOptions options = Packing();
  options.balance_groups = 2;
  const StreamPlan balanced = PackedPlan(Documents({3, 4, 5, 6, 7, 8}), options).ValueOrDie();
  EXPECT_EQ(balanced.facts().balance_groups, 2);
  LoadOptions load;
  load.loader.steps.batch_size = 4;
  EXPECT_TRUE(MakeLoader(balanced, load).ok());
  EXPECT_TRUE(MakeLoader(WorkOnColumn(balanced, "drop", "position_ids"), load).ok());
  EXPECT_THAT(MakeLoader(LimitPlan(balanced, 3).ValueOrDie(), load).status().message(),
              HasSubstr("limit, which lies between"));
  load.shuffle_buffer_size = 10;
  EXPECT_THAT(MakeLoader(balanced, load).status().message(), HasSubstr("balance_groups"));
  load.shuffle_buffer_size.reset();
  load.loader.steps.batch_size = 3;
  EXPECT_THAT(MakeLoader(balanced, load).status().message(), HasSubstr("must divide"));
}

TEST(PlanFactsTest, AMixInsideAMixCannotCountSteps) {
  mix::MixOptions options;
  options.names = {"a", "b"};
  options.schedule =
      mix::WeightSchedule::Make({"a", "b"}, {{0, {1, 0}}, {8, {0, 1}}}, mix::Interpolation::kStep)
          .ValueOrDie();
  options.schedule_unit = mix::ScheduleUnit::kSteps;
  const std::vector<StreamPlan> sources{Documents({1}), Documents({1}, 8)};
  const StreamPlan inner = mix::MixPlan(sources, options).ValueOrDie();
  EXPECT_TRUE(inner.facts().counts_steps);
  options.schedule_unit = mix::ScheduleUnit::kExamples;
  EXPECT_THAT(mix::MixPlan({inner, sources[1]}, options).status().message(),
              HasSubstr("a mix inside a mix cannot see"));
}

}  // namespace
}  // namespace easydata::plan
