#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <benchmark/benchmark.h>

#include <random>

#include "easydata/pack/balance_stage.h"
#include "easydata/pack/pack_stage.h"
#include "easydata/stream/memory_stage.h"

namespace easydata::pack {
namespace {

/// About 16 M tokens in documents of 32 .. 2,000 tokens.
std::vector<std::shared_ptr<arrow::RecordBatch>> Documents() {
  std::mt19937 random(1);
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  auto schema = arrow::schema({arrow::field("input_ids", arrow::list(arrow::int32()))});
  for (int b = 0; b < 32; ++b) {
    auto values = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder lists(arrow::default_memory_pool(), values);
    for (int i = 0; i < 512; ++i) {
      (void)lists.Append();
      const int64_t length = 32 + random() % 1968;
      for (int64_t j = 0; j < length; ++j) (void)values->Append(random() % 50000);
    }
    batches.push_back(arrow::RecordBatch::Make(schema, 512, {lists.Finish().ValueOrDie()}));
  }
  return batches;
}

int64_t Drain(Stage* stage) {
  int64_t rows = 0;
  for (;;) {
    auto batch = stage->Next().ValueOrDie();
    if (!batch.has_value()) return rows;
    rows += batch->num_rows();
  }
}

void BM_Pack(benchmark::State& state) {
  static const auto documents = Documents();
  PackSettings options;
  options.eos_token_id = 2;
  options.strategy = static_cast<PackStrategy>(state.range(0));
  options.rows_per_batch = state.range(1);
  int64_t tokens = 0;
  for (auto _ : state) {
    auto source = MakeMemoryStage(documents, documents[0]->schema(), "s", "m").ValueOrDie();
    auto stage = MakePackStage(std::move(source), options).ValueOrDie();
    tokens += Drain(stage.get()) * options.seq_length;
  }
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Pack)
    ->ArgNames({"strategy", "rows"})
    ->Args({0, 8})
    ->Args({0, 64})
    ->Args({1, 8})
    ->Args({2, 8})
    ->Args({3, 8})
    ->Args({4, 8})
    ->Args({5, 8})
    ->Args({6, 8});

/// What balancing adds: steps of 32 rows in groups of 4.
void BM_PackAndBalance(benchmark::State& state) {
  static const auto documents = Documents();
  PackSettings options;
  options.eos_token_id = 2;
  options.rows_per_batch = 32;
  int64_t tokens = 0;
  for (auto _ : state) {
    auto source = MakeMemoryStage(documents, documents[0]->schema(), "s", "m").ValueOrDie();
    auto stage = MakePackStage(std::move(source), options).ValueOrDie();
    if (state.range(0) > 0) {
      stage = MakeBalanceStage(std::move(stage), {8, {{0, 32}}}).ValueOrDie();
    }
    tokens += Drain(stage.get()) * options.seq_length;
  }
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_PackAndBalance)->ArgName("balance")->Arg(0)->Arg(1);

}  // namespace
}  // namespace easydata::pack
