#include "easydata/mix/mix_stage.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "easydata/exec/thread_pool.h"
#include "easydata/json/json_column.h"
#include "easydata/mix/mix_test_sources.h"
#include "easydata/mix/union_schema.h"
#include "easydata/stream/fingerprint.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_contract.h"

namespace easydata::mix {
namespace {

TEST(MixStageTest, KeepsTheContract) {
  const auto a = Source("a", 700, 13), b = Source("b", 1500, 100), c = Source("c", 4000, 64);
  CheckStageContract(Contract({a, b, c}, Options({"a", "b", "c"}, {0.3, 0.2, 0.5})));
  CheckStageContract(Contract(
      {a, b, c}, Options({"a", "b", "c"}, {0.31, 0.47, 0.22}, StopStrategy::kAllExhausted)));
  MixSettings one = Options({"a"}, {});
  one.block_size = 1;
  CheckStageContract(Contract({Source("a", 3000, 7)}, one));
}

TEST(MixStageTest, KeepsTheContractInGrainsOrder) {
  const auto a = Source("a", 70, 13), b = Source("b", 150, 100), c = Source("c", 400, 64);
  for (const auto stop : {StopStrategy::kFirstExhausted, StopStrategy::kAllExhausted}) {
    MixSettings options = Options({"a", "b", "c"}, {0.3, 0.25, 0.5}, stop);
    options.order = MixOrderKind::kGrain;
    const StageContract contract = Contract({a, b, c}, options);
    CheckStageContract(contract);
    const auto examples = Take(contract.make({}).ValueOrDie().get());
    options.block_size = 137;
    EXPECT_TRUE(Take(Contract({a, b, c}, options).make({}).ValueOrDie().get()) == examples);
  }
}

TEST(MixStageTest, TellsWhatEndedIt) {
  const std::vector<std::string> names = {"a", "b", "c"};
  for (const auto stop : {StopStrategy::kFirstExhausted, StopStrategy::kAllExhausted}) {
    const auto a = Source("a", 70, 13), b = Source("b", 150, 100), c = Source("c", 40, 64);
    const StageContract contract = Contract({a, b, c}, Options(names, {0.3, 0.2, 0.5}, stop));
    auto stage = contract.make({}).ValueOrDie();
    ASSERT_TRUE(stage->Next().ok());
    const nlohmann::json middle = stage->Save().ToJson();
    EXPECT_EQ(stage->stats().mix_end, nullptr);
    auto counts = Counts(Take(contract.make({}).ValueOrDie().get()));
    while (stage->Next().ValueOrDie().has_value()) {
    }
    const auto end = stage->stats().mix_end;
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->ended_by, stop == StopStrategy::kFirstExhausted ? "c" : "b");
    const std::map<std::string, int64_t> sizes = {{"a", 70}, {"b", 150}, {"c", 40}};
    for (const MixEnd::Source& source : end->sources) {
      const int64_t size = sizes.at(source.name);
      EXPECT_EQ(source.rows, counts[source.name]);
      EXPECT_EQ(source.passes, counts[source.name] / size);
      EXPECT_EQ(source.rows_in_pass, size);
      EXPECT_EQ(source.rows_left(), (size - counts[source.name] % size) % size);
    }
    auto resumed = contract.make({}).ValueOrDie();
    ASSERT_TRUE(resumed->Restore(middle).ok());
    while (resumed->Next().ValueOrDie().has_value()) {
    }
    EXPECT_EQ(resumed->stats().mix_end->ToJson(), end->ToJson());
    // Positions of old do not have the counts.
    nlohmann::json without = middle;
    for (auto& [name, source] : without["sources"].items()) source.erase("rows");
    auto old = contract.make({}).ValueOrDie();
    ASSERT_TRUE(old->Restore(without).ok());
    while (old->Next().ValueOrDie().has_value()) {
    }
    EXPECT_EQ(old->stats().mix_end->ended_by, end->ended_by);
    EXPECT_EQ(old->stats().mix_end->sources[0].rows, std::nullopt);
  }
}

TEST(MixStageTest, FirstExhaustedInGrainsOrderEndsWhereItsIteratorDoes) {
  MixSettings options = Options({"a", "b"}, {0.5, 0.5});
  options.order = MixOrderKind::kGrain;
  const auto examples = Take(
      Contract({Source("a", 100, 7), Source("b", 50, 7)}, options).make({}).ValueOrDie().get());
  EXPECT_EQ(examples.size(), 101u);  // a golden case
}

TEST(MixStageTest, KeepsTheContractUnderASchedule) {
  const std::vector<std::string> names = {"a", "b"};
  MixSettings options = Options(names, {});
  options.schedule =
      WeightSchedule::Make(names, {{0, {0.9, 0.1}}, {20, {0.1, 0.9}}}, Interpolation::kLinear)
          .ValueOrDie();
  const auto a = Source("a", 2000, 50), b = Source("b", 2000, 30);
  for (int64_t row_tokens : {0, 16}) {
    options.clock = StepClock{{{0, 8}}, row_tokens};
    CheckStageContract(Contract({a, b}, options));
  }
}

TEST(MixStageTest, GoesToAnExampleWithoutReadingThoseBefore) {
  const std::vector<std::string> names = {"a", "b", "c"};
  MixSettings weights = Options(names, {0.31, 0.47, 0.22});
  MixSettings grain = weights;
  grain.order = MixOrderKind::kGrain;
  MixSettings schedule = Options(names, {});
  schedule.schedule = WeightSchedule::Make(names, {{0, {0.8, 0.1, 0.1}}, {30, {0.2, 0.4, 0.4}}},
                                           Interpolation::kLinear)
                          .ValueOrDie();
  schedule.clock = StepClock{{{0, 8}}, 0};
  for (MixSettings options : {weights, grain, schedule}) {
    options.stop = StopStrategy::kRestart;
    const StageContract contract =
        Contract({Source("a", 70, 13), Source("b", 31, 9), Source("c", 1, 1)}, options);
    const auto whole = Take(contract.make({}).ValueOrDie().get(), 900);
    for (int64_t row : {0, 1, 9, 10, 11, 250, 299, 300, 777}) {
      auto stage = contract.make({}).ValueOrDie();
      ASSERT_TRUE(stage->Seek(row).ValueOrDie());
      auto restored = contract.make({}).ValueOrDie();
      ASSERT_TRUE(restored->Restore(stage->Save().ToJson()).ok());
      const auto rest = std::vector(whole.begin() + row, whole.begin() + row + 100);
      EXPECT_EQ(Take(stage.get(), 100), rest) << row;
      EXPECT_EQ(Take(restored.get(), 100), rest) << row;
    }
  }
}

TEST(MixStageTest, WhatDependsOnWhatWasReadIsNotSought) {
  for (StopStrategy stop : {StopStrategy::kFirstExhausted, StopStrategy::kAllExhausted}) {
    const auto mix = Contract({Source("a", 70, 13)}, Options({"a"}, {}, stop));
    EXPECT_FALSE(mix.make({}).ValueOrDie()->Seek(5).ValueOrDie());
  }
  MixSettings tokens = Options({"a"}, {}, StopStrategy::kRestart);
  tokens.unit = MixUnit::kTokens;
  const auto mix = Contract({Source("a", 70, 13)}, tokens);
  EXPECT_FALSE(mix.make({}).ValueOrDie()->Seek(5).ValueOrDie());
}

TEST(MixStageTest, FirstExhaustedStopsWhereAnExampleIsMissing) {
  auto stage = Contract({Source("a", 13, 5), Source("b", 42, 5)}, Options({"a", "b"}, {0.5, 0.5}))
                   .make({})
                   .ValueOrDie();
  const auto examples = Take(stage.get());
  // The golden case of seed 42, block 10.
  EXPECT_EQ(examples.size(), 24u);
  EXPECT_EQ(Counts(examples).at("a"), 13);
}

TEST(MixStageTest, D4AllExhaustedGivesEachSourceWholeAndEnds) {
  for (auto [a, b] : {std::pair<int64_t, int64_t>{50, 50}, {2, 500}, {1, 7}}) {
    auto stage = Contract({Source("a", a, 3), Source("b", b, 7)},
                          Options({"a", "b"}, {0.5, 0.5}, StopStrategy::kAllExhausted))
                     .make({})
                     .ValueOrDie();
    std::set<std::pair<std::string, int64_t>> seen;
    const auto examples = Take(stage.get());
    for (const Example& example : examples) seen.insert({example.source, example.row});
    EXPECT_EQ(static_cast<int64_t>(seen.size()), a + b);
    // C18: the last example is new, and completes its source.
    EXPECT_EQ(examples.back().row, examples.back().source == "a" ? a - 1 : b - 1);
    EXPECT_EQ(std::count(examples.begin(), examples.end(), examples.back()), 1);
  }
}

TEST(MixStageTest, RestartGoesOnForEverInOrder) {
  auto stage = Contract({Source("a", 3, 2), Source("b", 1000, 64)},
                        Options({"a", "b"}, {0.5, 0.5}, StopStrategy::kRestart))
                   .make({})
                   .ValueOrDie();
  int64_t next = 0;
  for (const Example& example : Take(stage.get(), 500)) {
    if (example.source == "a") {
      EXPECT_EQ(example.row, next++ % 3);
    }
  }
}

TEST(MixStageTest, ARestartedSourceIsMadeForTheNextEpoch) {
  auto epochs = std::make_shared<std::vector<int64_t>>();
  StageFactory inner = Source("a", 5, 5);
  StageFactory source = [=](const StageContext& context) {
    epochs->push_back(context.epoch);
    return inner(context);
  };
  auto stage = MakeMixStage({source}, Options({"a"}, {}, StopStrategy::kRestart),
                            StageContext{3, nullptr, 0})
                   .ValueOrDie();
  Take(stage.get(), 12);
  ASSERT_GE(epochs->size(), 3u);
  EXPECT_EQ((*epochs)[0], 3);
  EXPECT_EQ((*epochs)[1], 4);
  EXPECT_EQ((*epochs)[2], 5);
}

TEST(MixStageTest, RestoresDeepInARestartingMix) {
  const auto contract = Contract({Source("a", 7, 3), Source("b", 300, 64)},
                                 Options({"a", "b"}, {0.123, 0.877}, StopStrategy::kRestart));
  auto whole = contract.make({}).ValueOrDie();
  Take(whole.get(), 3000);
  nlohmann::json cursor = whole->Save().ToJson();
  auto restored = contract.make({}).ValueOrDie();
  ASSERT_TRUE(restored->Restore(cursor).ok());
  nlohmann::json again = restored->Save().ToJson();
  EXPECT_EQ(again, cursor);
  EXPECT_TRUE(Take(restored.get(), 3000) == Take(whole.get(), 3000));
}

TEST(MixStageTest, EmptySourcesAreAnErrorWithTheirName) {
  for (auto stop :
       {StopStrategy::kRestart, StopStrategy::kFirstExhausted, StopStrategy::kAllExhausted}) {
    auto contract = Contract({Source("void", 0, 5), Source("full", 5, 5)},
                             Options({"void", "full"}, {0.5, 0.5}, stop));
    const Status error = CheckErrorContract(contract, 2);
    EXPECT_NE(error.message().find("sources[\"void\"] is empty"), std::string::npos) << error;
  }
}

TEST(MixStageTest, AnEmptySourceIsOneAfterARestoreToo) {
  for (const auto stop : {StopStrategy::kFirstExhausted, StopStrategy::kAllExhausted}) {
    const StageContract contract = Contract({Source("some", 100, 7), Source("none", 0, 7)},
                                            Options({"some", "none"}, {0.9, 0.1}, stop));
    auto stage = contract.make({}).ValueOrDie();
    ASSERT_GT(stage->Next().ValueOrDie()->num_rows(), 0);
    nlohmann::json cursor = stage->Save().ToJson();
    const Status error = stage->Next().status();
    EXPECT_THAT(error.message(), ::testing::HasSubstr("\"none\"] is empty"));
    auto restored = contract.make({}).ValueOrDie();
    ASSERT_TRUE(restored->Restore(cursor).ok());
    EXPECT_EQ(restored->Next().status(), error);
  }
}

TEST(MixStageTest, AnErrorComesAfterTheExamplesBeforeIt) {
  const auto inner = Source("a", 40, 1);
  StageFactory bad = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, inner(context));
    return MakeMapStage(std::move(stage), std::make_shared<FailsAtRow>(17), context);
  };
  auto good = Contract({Source("a", 17, 1), Source("b", 100, 10)}, Options({"a", "b"}, {1, 1}))
                  .make({})
                  .ValueOrDie();
  const auto before = static_cast<int64_t>(Take(good.get()).size());
  const Status error = CheckErrorContract(
      Contract({bad, Source("b", 100, 10)}, Options({"a", "b"}, {1, 1})), before);
  EXPECT_NE(error.message().find("sources[\"a\"] memory row 17: a bad row"), std::string::npos);
}

TEST(MixStageTest, SourcesWithoutANameHaveTheirNameInTheMix) {
  const auto inner = Source("", 30, 10);
  StageFactory bad = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, inner(context));
    return MakeMapStage(std::move(stage), std::make_shared<FailsAtRow>(17), context);
  };
  auto contract = Contract({bad}, Options({"mixed in"}, {}));
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);
  auto stage = contract.make(context).ValueOrDie();
  auto batch = stage->Next().ValueOrDie();
  EXPECT_EQ(batch->addresses.At(3).ToString(), "sources[\"mixed in\"] memory row 3");
  const Status error = stage->Next().status();
  EXPECT_NE(error.message().find("sources[\"mixed in\"] memory row 17: a bad row"),
            std::string::npos)
      << error;
}

StageFactory Table(const std::shared_ptr<arrow::Schema>& schema) {
  return [=](const StageContext&) {
    return MakeMemoryStage({arrow::RecordBatch::MakeEmpty(schema).ValueOrDie()}, schema, "t", "m");
  };
}

TEST(MixStageTest, ColumnsAreMatchedByName) {
  const auto left = arrow::schema({arrow::field("t", arrow::utf8()),
                                   arrow::field("l", arrow::list(arrow::int32())),
                                   arrow::field("only_left", arrow::boolean())});
  const auto right = arrow::schema({arrow::field("l", arrow::large_list(arrow::int64())),
                                    arrow::field("t", arrow::large_utf8()),
                                    arrow::field("only_left", arrow::null())});
  const auto both = UnionSchema({"a", "b"}, {left, right}).ValueOrDie();
  EXPECT_TRUE(both->Equals(*arrow::schema({arrow::field("t", arrow::large_utf8()),
                                           arrow::field("l", arrow::large_list(arrow::int64())),
                                           arrow::field("only_left", arrow::boolean())})))
      << both->ToString();
  const Status clash =
      MakeMixStage({Table(left), Table(arrow::schema({arrow::field("t", arrow::int64())}))},
                   Options({"left", "right"}, {}), {})
          .status();
  EXPECT_TRUE(clash.IsTypeError());
  EXPECT_NE(clash.message().find("sources[\"left\"] has string, sources[\"right\"] has int64"),
            std::string::npos)
      << clash;
}

TEST(MixStageTest, TypedColumnsBecomeJsonWhereOthersAreJson) {
  const auto typed = arrow::schema({arrow::field("n", arrow::int32())});
  arrow::Int32Builder builder;
  ASSERT_TRUE(builder.AppendValues({1, 2}, std::vector<bool>{true, false}).ok());
  auto rows = arrow::RecordBatch::Make(typed, 2, {builder.Finish().ValueOrDie()});
  const auto json = arrow::schema({json::JsonField("n")});
  const auto values = UnionSchema({"a", "b"}, {typed, json}).ValueOrDie();
  ASSERT_TRUE(json::IsJsonField(*values->field(0)));
  auto out = ToUnion(rows, *values).ValueOrDie();
  const auto& texts = static_cast<const arrow::StringArray&>(*out->column(0));
  EXPECT_EQ(texts.GetString(0), "1");
  EXPECT_EQ(texts.GetString(1), "null");

  const auto whole =
      UnionSchema({"a", "b"}, {typed, arrow::schema({json::JsonField(json::kRowColumn)})});
  ASSERT_EQ((*whole)->num_fields(), 1);
  out = ToUnion(rows, **whole).ValueOrDie();
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*out->column(0)).GetString(0), "{\"n\":1}");
}

TEST(MixStageTest, WiderTypesAreMadeOfNarrowOnes) {
  auto narrow = arrow::schema({arrow::field("n", arrow::int32())});
  arrow::Int32Builder builder;
  ASSERT_TRUE(builder.AppendValues({1, 2, 3}).ok());
  auto rows = arrow::RecordBatch::Make(narrow, 3, {builder.Finish().ValueOrDie()});
  auto wide = ToUnion(rows, *arrow::schema({arrow::field("n", arrow::int64())})).ValueOrDie();
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*wide->column(0)).Value(2), 3);
}

TEST(MixStageTest, D36WeightsFollowTheClockOfTheSteps) {
  const std::vector<std::string> names = {"a", "b"};
  MixSettings options = Options(names, {}, StopStrategy::kRestart);
  options.schedule =
      WeightSchedule::Make(names, {{0, {1, 0}}, {100, {0, 1}}}, Interpolation::kStep).ValueOrDie();
  const auto a = Source("a", 100, 50), b = Source("b", 100, 50);
  auto count_a = [&](StepClock clock) {
    options.clock = clock;
    auto stage = MakeMixStage({a, b}, options, {}).ValueOrDie();
    return Counts(Take(stage.get(), 4000))["a"];
  };
  EXPECT_EQ(count_a(StepClock{}), 100);
  EXPECT_EQ(count_a(StepClock{{{0, 8}}, 0}), 800);
  // Rows have 3 tokens on average: 100 steps of 2 rows of 12 tokens are 800 examples.
  EXPECT_EQ(count_a(StepClock{{{0, 2}}, 12}), 800);
}

TEST(MixStageTest, RefusesWhatCannotBeMixed) {
  EXPECT_FALSE(Options({}, {}).Validate().ok());
  EXPECT_FALSE(Options({"a", "a"}, {}).Validate().ok());
  EXPECT_FALSE(Options({"a", "b"}, {1}).Validate().ok());
  EXPECT_FALSE(Options({"a", "b"}, {1, -1}).Validate().ok());
  EXPECT_FALSE(Options({"a", "b"}, {0, 0}).Validate().ok());
}

TEST(MixStageTest, ThePlanNamesEachSource) {
  StreamPlan source;
  source.make = Source("a", 3, 3);
  source.node = MakeNode("source", {{"files", {"x.parquet"}}});
  const StreamPlan plan = MixPlan({source}, Options({"a"}, {})).ValueOrDie();
  const nlohmann::json description = Describe(*plan.node);
  EXPECT_EQ(description.at("sources[a].source.files").dump(), "[\"x.parquet\"]");
  EXPECT_EQ(description.at("mix.block_size"), 10);
  EXPECT_TRUE(Fingerprint(description, *plan.node).contains("sources[*]"));
}

}  // namespace
}  // namespace easydata::mix
