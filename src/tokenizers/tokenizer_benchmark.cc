// Megabytes of text per second of one thread, cold (a tokenizer that has seen nothing) and warm.
//
// EASYDATA_BENCHMARK_TOKENIZERS: tokenizer.json paths, separated by colons.
// EASYDATA_BENCHMARK_TEXT: a UTF-8 file, cut into documents of about 3 KB at line breaks.

#include <arrow/array.h>
#include <arrow/builder.h>
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include "tokenizers/tokenizer.h"

namespace easydata::tokenizers {
namespace {

constexpr size_t kDocumentBytes = 3000;
constexpr size_t kBatchBytes = size_t{1} << 20;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Batches of documents as a source would hand them over.
std::vector<std::shared_ptr<arrow::Array>> MakeBatches(const std::string& text) {
  std::vector<std::shared_ptr<arrow::Array>> batches;
  arrow::StringBuilder builder;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', std::min(begin + kDocumentBytes, text.size()));
    end = end == std::string::npos ? text.size() : end + 1;
    if (!builder.Append(std::string_view(text).substr(begin, end - begin)).ok()) std::abort();
    begin = end;
    if (static_cast<size_t>(builder.value_data_length()) >= kBatchBytes || begin == text.size()) {
      batches.push_back(builder.Finish().ValueOrDie());
    }
  }
  return batches;
}

void EncodeAll(const Tokenizer& tokenizer,
               const std::vector<std::shared_ptr<arrow::Array>>& batches, benchmark::State& state) {
  for (const auto& batch : batches) {
    auto encoded = tokenizer.EncodeBatch(*batch, {});
    if (!encoded.ok()) state.SkipWithError(encoded.status().message().c_str());
    benchmark::DoNotOptimize(encoded);
  }
}

void Run(benchmark::State& state, const std::string& json,
         const std::vector<std::shared_ptr<arrow::Array>>& batches, size_t bytes, bool warm) {
  auto tokenizer = Tokenizer::FromJson(json);
  if (!tokenizer.ok()) return state.SkipWithError(tokenizer.status().message().c_str());
  if (warm) EncodeAll(**tokenizer, batches, state);
  for (auto _ : state) {
    if (!warm) {
      state.PauseTiming();
      tokenizer = Tokenizer::FromJson(json);
      // The word cache's memory and the vocabulary's words: what loading costs, not encoding.
      std::vector<int32_t> ids;
      if (!(*tokenizer)->Encode("a", {}, &ids).ok()) std::abort();
      state.ResumeTiming();
    }
    EncodeAll(**tokenizer, batches, state);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
  state.SetLabel((*tokenizer)->steps().back().second);
}

int Main(int argc, char** argv) {
  const char* text_path = std::getenv("EASYDATA_BENCHMARK_TEXT");
  const char* tokenizer_paths = std::getenv("EASYDATA_BENCHMARK_TOKENIZERS");
  if (text_path == nullptr || tokenizer_paths == nullptr) {
    std::cerr << "set EASYDATA_BENCHMARK_TEXT and EASYDATA_BENCHMARK_TOKENIZERS\n";
    return 2;
  }
  const std::string text = ReadFile(text_path);
  const auto batches = MakeBatches(text);
  std::istringstream paths(tokenizer_paths);
  for (std::string path; std::getline(paths, path, ':');) {
    const std::string json = ReadFile(path);
    for (const bool warm : {false, true}) {
      benchmark::RegisterBenchmark((path + (warm ? "/warm" : "/cold")).c_str(),
                                   [json, &batches, &text, warm](benchmark::State& state) {
                                     Run(state, json, batches, text.size(), warm);
                                   })
          ->Unit(benchmark::kMillisecond)
          ->Iterations(3);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace easydata::tokenizers

int main(int argc, char** argv) { return easydata::tokenizers::Main(argc, argv); }
