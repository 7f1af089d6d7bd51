#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "easydata/mix/mix_stage.h"
#include "easydata/stream/memory_stage.h"

namespace easydata::mix {
namespace {

/// 65,536 rows of `tokens` tokens each, in batches of 4,096.
StageFactory Tokens(const std::string& name, int64_t tokens) {
  const auto schema = arrow::schema({arrow::field("input_ids", arrow::list(arrow::int32()))});
  constexpr int64_t kBatchRows = 4096;
  auto values = std::make_shared<arrow::Int32Builder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), values);
  for (int64_t r = 0; r < kBatchRows; ++r) {
    (void)lists.Append();
    for (int64_t t = 0; t < tokens; ++t) (void)values->Append(static_cast<int32_t>(t));
  }
  const auto batch = arrow::RecordBatch::Make(schema, kBatchRows, {lists.Finish().ValueOrDie()});
  return [=](const StageContext&) {
    return MakeMemoryStage(std::vector(16, batch), schema, name, "memory");
  };
}

/// Three sources of rows of range(0) tokens, by examples or by tokens: rows and tokens a second.
void BM_Mix(benchmark::State& state) {
  const int64_t tokens = state.range(0);
  MixSettings options;
  options.names = {"a", "b", "c"};
  options.weights = {0.5, 0.3, 0.2};
  options.unit = state.range(1) != 0 ? MixUnit::kTokens : MixUnit::kExamples;
  options.add_source = false;
  const auto stage =
      MakeMixStage({Tokens("a", tokens), Tokens("b", tokens), Tokens("c", tokens)}, options, {})
          .ValueOrDie();
  int64_t rows = 0;
  for (auto _ : state) rows += stage->Next().ValueOrDie()->num_rows();
  state.SetItemsProcessed(rows);
  state.counters["tokens"] =
      benchmark::Counter(static_cast<double>(rows * tokens), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Mix)->ArgsProduct({{80, 500}, {0, 1}});

/// Example 10^9 of a mix of range(0) sources; weights without a common denominator.
void BM_SeekBlockByBlock(benchmark::State& state) {
  MixSettings options;
  for (int i = 0; i < state.range(0); ++i) {
    options.names.push_back(std::to_string(i));
    options.weights.push_back(std::sqrt(2.0 + i));
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(MixOrder::Make(options).ValueOrDie().Seek(1'000'000'000));
  }
}
BENCHMARK(BM_SeekBlockByBlock)->Arg(3)->Arg(16)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace easydata::mix
