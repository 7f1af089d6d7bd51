// Tokenizes JSON lines to Parquet: pretokenize TOKENIZER.json OUTPUT_FOLDER FILE.jsonl...

#include <easydata/easydata.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

easydata::Status Run(const std::string& tokenizer_path, const std::string& output,
                     const std::vector<std::string>& files) {
  using namespace easydata;

  ARROW_ASSIGN_OR_RAISE(auto tokenizer, tokenizers::Tokenizer::FromFile(tokenizer_path));

  // Read only the field `text`, as text.
  ARROW_ASSIGN_OR_RAISE(const source::DataFiles data, source::ListDataFiles(files));
  ARROW_ASSIGN_OR_RAISE(auto source,
                        source::MakeJsonSource(data.files, source::JsonLayout::kLines));
  source::SourceStageOptions read;
  read.columns = std::vector<ColumnRequest>{{"text", ColumnKind::kText}};
  ARROW_ASSIGN_OR_RAISE(StreamPlan plan, source::SourcePlan(source, read));

  // Tokenize in the task that reads and parses.
  transform::TokenizeOptions tokenize;
  tokenize.attention_mask = false;
  ARROW_ASSIGN_OR_RAISE(plan, plan::TokenizePlan(plan, tokenizer, tokenize));

  sink::WriteOptions write;
  write.output_path = output;
  write.compression = "zstd";
  ARROW_ASSIGN_OR_RAISE(auto writer, sink::StreamWriter::Make(plan, write));
  const auto start = std::chrono::steady_clock::now();
  ARROW_ASSIGN_OR_RAISE(sink::WriteResult result, writer->Run());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  std::cout << result.rows << " documents, " << result.tokens << " tokens, " << result.shards.size()
            << " file(s), " << result.tokens / seconds.count() / 1e6 << " M tokens/s\n";
  return Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: pretokenize TOKENIZER.json OUTPUT_FOLDER FILE.jsonl...\n";
    return 2;
  }
  const easydata::Status status =
      Run(argv[1], argv[2], std::vector<std::string>(argv + 3, argv + argc));
  if (!status.ok()) {
    std::cerr << "pretokenize: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
