#include <arrow/record_batch.h>
#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "easydata/source/json_rows.h"
#include "easydata/source/line_chunk.h"

namespace easydata::source {
namespace {

/// About one chunk of documents of prose, 2.5 kB each, beside two small fields.
std::string Chunk() {
  std::string out;
  std::mt19937 random(1);
  while (static_cast<int64_t>(out.size()) < kChunkBytes) {
    out += "{\"id\": \"" + std::to_string(random()) + "\", \"text\": \"";
    for (int word = 0; word < 450; ++word) {
      out += std::string(1 + random() % 8, 'a' + random() % 26);
      out += word % 60 == 59 ? "\\n" : word % 25 == 24 ? "\\\"" : " ";
    }
    out += "\", \"url\": \"https://example.org/" + std::to_string(random()) + "\"}\n";
  }
  return out;
}

void BM_ExtractText(benchmark::State& state) {
  std::string chunk = Chunk();
  const size_t size = chunk.size();
  chunk.resize(size + kChunkPadding);
  const std::string_view text(chunk.data(), size);
  const Columns columns = {{{"text", ColumnKind::kText}}};
  const auto schema = JsonRowSchema(columns);
  for (auto _ : state) {
    JsonRows rows(columns, schema, text.size(), 1 << 14);
    ForEachLine(text, [&](std::string_view line) {
      BadRow bad;
      return rows.Append(line, &bad).ok();
    });
    benchmark::DoNotOptimize(rows.Finish());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * size));
}
BENCHMARK(BM_ExtractText);

}  // namespace
}  // namespace easydata::source
