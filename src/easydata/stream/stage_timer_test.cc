#include "easydata/stream/stage_timer.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "easydata/exec/thread_pool.h"
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/memory_stage.h"

namespace easydata {
namespace {

void Sleep(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(StageTimerTest, TimesAreWithoutThoseOfTimersInside) {
  double outer = 0;
  double inner = 0;
  double innermost = 0;
  {
    StageTimer timer(&outer);
    Sleep(10);
    for (int i = 0; i < 2; ++i) {
      StageTimer nested(&inner);
      Sleep(30);
      StageTimer deepest(&innermost);
      Sleep(60);
    }
    std::thread other([] {  // another thread's time is its own
      double seconds = 0;
      StageTimer timer(&seconds);
      Sleep(5);
    });
    other.join();
  }
  // Sleeps are never short, and on a busy machine long: what counts is where the time goes.
  EXPECT_GE(outer, 0.015);
  EXPECT_GE(inner, 0.060);
  EXPECT_GE(innermost, 0.120);
  EXPECT_LT(outer, inner);
  EXPECT_LT(inner, innermost);
}

/// A stage that takes its time for every batch.
class SlowStage : public Stage {
 public:
  SlowStage(std::unique_ptr<Stage> upstream, int milliseconds)
      : upstream_(std::move(upstream)), milliseconds_(milliseconds) {}
  Result<std::optional<Batch>> Next() override {
    Sleep(milliseconds_);
    return upstream_->Next();
  }
  Cursor Save() const override { return upstream_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return upstream_->Restore(cursor); }
  void Cancel() override { upstream_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }
  StageStats stats() const override { return upstream_->stats(); }

 private:
  std::unique_ptr<Stage> upstream_;
  const int milliseconds_;
};

class SlowOp : public BatchOp {
 public:
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    Sleep(20);
    return batch;
  }
  const char* name() const override { return "slow op"; }
};

TEST(StageTimerTest, EveryStageSaysWhatItTook) {
  const auto schema = arrow::schema({arrow::field("n", arrow::int64())});
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int i = 0; i < 6; ++i) {
    arrow::Int64Builder builder;
    ASSERT_TRUE(builder.Append(i).ok());
    batches.push_back(arrow::RecordBatch::Make(schema, 1, {*builder.Finish()}));
  }
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);
  auto memory = MakeMemoryStage(batches, schema, "memory", "rows");
  ASSERT_TRUE(memory.ok());
  auto source = Timed(std::make_unique<SlowStage>(std::move(*memory), 5), "source").ValueOrDie();
  auto mapped = MakeMapStage(std::move(source), std::make_shared<SlowOp>(), context);
  ASSERT_TRUE(mapped.ok());
  auto last = Timed(std::make_unique<SlowStage>(std::move(*mapped), 1), "last").ValueOrDie();
  int rows = 0;
  for (;;) {
    auto batch = last->Next();
    ASSERT_TRUE(batch.ok());
    if (!batch->has_value()) break;
    rows += static_cast<int>((*batch)->num_rows());
  }
  EXPECT_EQ(rows, 6);
  const StageStats stats = last->stats();
  EXPECT_EQ(stats.wait_seconds.size(), 3u);
  EXPECT_GE(stats.wait_seconds.at("source"), 7 * 0.005);
  EXPECT_GE(stats.wait_seconds.at("last"), 7 * 0.001);
  EXPECT_GE(stats.wait_seconds.at("workers"), 0.040);
  EXPECT_LT(stats.wait_seconds.at("last"), stats.wait_seconds.at("source"));
  ASSERT_EQ(stats.busy_seconds.size(), 1u);
  EXPECT_GE(stats.busy_seconds.at("slow op"), 6 * 0.020);
}

}  // namespace
}  // namespace easydata
