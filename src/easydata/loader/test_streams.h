#pragma once

// The streams that the tests of the loader read, and how they look at the batches.

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "easydata/base/random.h"
#include "easydata/loader/loader.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/lane_rows_stage.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/memory_stage.h"

namespace easydata::loader {

/// Batches of uneven sizes, some of them empty, of rows {input_ids: [n, n + 1, ...], n}.
inline std::vector<std::shared_ptr<arrow::RecordBatch>> MakeBatches(const std::vector<int>& sizes,
                                                                    bool ragged) {
  auto schema = arrow::schema(
      {arrow::field("input_ids", arrow::list(arrow::int32())), arrow::field("n", arrow::int64())});
  std::vector<std::shared_ptr<arrow::RecordBatch>> out;
  int64_t n = 0;
  for (int size : sizes) {
    auto values = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder ids(arrow::default_memory_pool(), values);
    arrow::Int64Builder number;
    for (int i = 0; i < size; ++i, ++n) {
      EXPECT_TRUE(ids.Append().ok());
      for (int64_t k = 0; k < (ragged ? n % 5 : 3); ++k) {
        EXPECT_TRUE(values->Append(static_cast<int32_t>(n + k)).ok());
      }
      EXPECT_TRUE(number.Append(n).ok());
    }
    out.push_back(arrow::RecordBatch::Make(schema, size, {*ids.Finish(), *number.Finish()}));
  }
  return out;
}

/// Sleeps for a time of each batch's own, up to a third of a millisecond: what the order must not
/// depend on. With a seed the times are drawn, in the order of the calls; with none (0) they follow
/// from the batches' sizes.
class DelayOp : public BatchOp {
 public:
  explicit DelayOp(uint64_t seed = 0) : seed_(seed) {}
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    uint64_t microseconds = static_cast<uint64_t>(batch.rows->num_rows()) * 37 % 300;
    if (seed_ != 0) microseconds = Pcg64({seed_, calls_++}).Interval(300);
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    return batch;
  }

 private:
  const uint64_t seed_;
  mutable std::atomic<uint64_t> calls_{0};
};

inline StreamPlan PlanOf(std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
                         uint64_t delays = 0) {
  StreamPlan plan;
  plan.node = MakeNode("source", {{"data", "memory"}});
  auto schema = batches[0]->schema();
  plan.make = [batches, schema](const StageContext&) {
    return MakeMemoryStage(batches, schema, "memory", "rows");
  };
  return MapPlan(plan, std::make_shared<DelayOp>(delays));
}

/// Partitions the rows of a plan among lanes.
inline StreamPlan Dealt(StreamPlan whole) {
  StreamPlan plan;
  plan.node = whole.node;
  plan.make = [make = std::move(whole.make)](
                  const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    ARROW_ASSIGN_OR_RAISE(const auto rows, stage->NumRows());
    return SelectLaneRows(std::move(stage), context,
                          [rows]() -> Result<std::optional<std::vector<int64_t>>> {
                            if (!rows.has_value()) return std::nullopt;
                            return std::vector<int64_t>{*rows};
                          });
  };
  return plan;
}

inline StreamPlan SomePlan(bool ragged = false) {
  return PlanOf(MakeBatches({3, 0, 11, 1, 0, 0, 8, 20, 5, 1, 1, 7}, ragged));  // 57 rows
}

/// One line a row, so that batches of ranks can be joined and compared.
inline std::vector<std::string> Describe(const LoaderBatch& batch) {
  std::vector<std::string> rows(batch.rows);
  for (const LoaderColumn& column : batch.columns) {
    EXPECT_EQ(column.shape[0], batch.rows);
    const int64_t per_row = column.shape.size() == 2 ? column.shape[1] : 1;
    for (int64_t i = 0; i < batch.rows; ++i) {
      rows[i] += column.name + "=";
      for (int64_t k = i * per_row; k < (i + 1) * per_row; ++k) {
        rows[i] += column.dtype->id() == arrow::Type::INT32
                       ? std::to_string(reinterpret_cast<const int32_t*>(column.data)[k])
                       : std::to_string(reinterpret_cast<const int64_t*>(column.data)[k]);
        rows[i] += ",";
      }
    }
  }
  return rows;
}

inline std::unique_ptr<Loader> MakeLoader(StreamPlan plan, LoaderOptions options) {
  auto loader = Loader::Make(std::move(plan), std::move(options));
  EXPECT_TRUE(loader.ok()) << loader.status();
  return std::move(*loader);
}

/// The batches up to the end of the pass.
inline std::vector<std::vector<std::string>> Drain(Loader* loader) {
  std::vector<std::vector<std::string>> out;
  for (;;) {
    auto batch = loader->Take();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) return out;
    out.push_back(Describe(**batch));
  }
}

inline LoaderOptions Options(int64_t batch_size, bool drop_last = true) {
  LoaderOptions options;
  options.steps.batch_size = batch_size;
  options.steps.drop_last = drop_last;
  options.num_threads = 2;
  return options;
}

}  // namespace easydata::loader
