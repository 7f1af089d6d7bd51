#pragma once

// The small pipelines whose states are fuzzed: two sources in memory, mixed up to their end, then
// shuffled and packed.

#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "easydata/loader/loader.h"
#include "easydata/mix/mix_stage.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/pack/pack_stage.h"
#include "easydata/stream/memory_stage.h"

namespace easydata::fuzz {

inline constexpr int kNumPipelines = 3;

/// `batches` batches of seven documents of 0 to 9 tokens.
inline StreamPlan Documents(const std::string& name, int batches) {
  const auto schema = arrow::schema({arrow::field("input_ids", arrow::list(arrow::int32()))});
  std::vector<std::shared_ptr<arrow::RecordBatch>> made;
  int32_t token = 10;
  for (int k = 0; k < batches; ++k) {
    const auto ids = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder lists(arrow::default_memory_pool(), ids);
    for (int row = 0; row < 7; ++row) {
      if (!lists.Append().ok()) std::abort();
      for (int i = 0; i < (k * 7 + row * 3) % 10; ++i) {
        if (!ids->Append(token++).ok()) std::abort();
      }
    }
    made.push_back(arrow::RecordBatch::Make(schema, 7, {lists.Finish().ValueOrDie()}));
  }
  StreamPlan plan;
  plan.node = MakeNode("source", {{"data", name}});
  plan.make = [made = std::move(made), schema, name](const StageContext&) {
    return MakeMemoryStage(made, schema, name, "rows");
  };
  return plan;
}

/// 0 shuffles rows; 1 packs by first fit and shuffles what comes; 2 counts tokens and packs
/// greedily.
inline StreamPlan PlanOf(int pipeline) {
  mix::MixOptions mix;
  mix.names = {"a", "b"};
  mix.weights = {0.7, 0.3};
  mix.block_size = 5;
  mix.seed = 1;
  mix.stop = mix::StopStrategy::kAllExhausted;
  mix.unit = pipeline == 2 ? mix::MixUnit::kTokens : mix::MixUnit::kExamples;
  StreamPlan plan = mix::MixPlan({Documents("a", 6), Documents("b", 3)}, mix).ValueOrDie();
  if (pipeline > 0) {
    pack::PackOptions pack;
    pack.seq_length = 12;
    pack.eos_token_id = 2;
    pack.pad_token_id = 0;
    pack.strategy = pipeline == 1 ? pack::PackStrategy::kFirstFit : pack::PackStrategy::kGreedy;
    pack.pack_window = 9;
    plan = pack::PackPlan(std::move(plan), pack).ValueOrDie();
  }
  if (pipeline < 2) {
    order::WindowShuffleOptions shuffle;
    shuffle.rows = 11;
    plan = order::WindowShufflePlan(std::move(plan), shuffle, "shuffle").ValueOrDie();
  }
  return plan;
}

inline std::unique_ptr<loader::Loader> MakeLoader(int pipeline) {
  loader::LoaderOptions options;
  options.steps.batch_size = 3;
  options.prefetch = false;
  options.num_threads = 1;
  return loader::Loader::Make(PlanOf(pipeline), options).ValueOrDie();
}

}  // namespace easydata::fuzz
