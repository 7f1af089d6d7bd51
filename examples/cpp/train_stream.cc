// Mixes, tokenizes and packs JSON lines for training, and goes on where it was stopped:
// train_stream TOKENIZER.json STATE.json STEPS CODE.jsonl PROSE.jsonl

#include <easydata/easydata.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

namespace {

using namespace easydata;

// The tokens of a file's field `text`.
Result<StreamPlan> Documents(const std::string& file,
                             std::shared_ptr<const tokenizers::TextEncoder> encoder) {
  ARROW_ASSIGN_OR_RAISE(const source::DataFiles data, source::ListDataFiles({file}));
  ARROW_ASSIGN_OR_RAISE(auto source,
                        source::MakeJsonSource(data.files, source::JsonLayout::kLines));
  source::SourceStageOptions read;
  read.columns = std::vector<ColumnRequest>{{"text", ColumnKind::kText}};
  ARROW_ASSIGN_OR_RAISE(StreamPlan plan, source::SourcePlan(source, read));
  transform::TokenizeOptions tokenize;
  tokenize.attention_mask = false;
  return plan::TokenizePlan(plan, std::move(encoder), tokenize);
}

// Three parts of code to one of prose for the first four steps, then as much of both, for ever.
Result<StreamPlan> Mixed(const StreamPlan& code, const StreamPlan& prose) {
  mix::MixOptions mix;
  mix.names = {"code", "prose"};
  ARROW_ASSIGN_OR_RAISE(
      mix.schedule,
      mix::WeightSchedule::Make(mix.names, {{0, {3, 1}}, {4, {1, 1}}}, mix::Interpolation::kStep));
  mix.schedule_unit = mix::ScheduleUnit::kSteps;
  mix.block_size = 8;
  mix::MixWiring wiring;
  wiring.add_source = false;
  return mix::MixPlan({code, prose}, mix, wiring);
}

Status Run(const std::string& tokenizer_path, const std::string& state_path, int steps,
           const std::string& code_path, const std::string& prose_path) {
  ARROW_ASSIGN_OR_RAISE(auto tokenizer, tokenizers::Tokenizer::FromFile(tokenizer_path));
  ARROW_ASSIGN_OR_RAISE(auto code, Documents(code_path, tokenizer));
  ARROW_ASSIGN_OR_RAISE(auto prose, Documents(prose_path, tokenizer));
  ARROW_ASSIGN_OR_RAISE(auto mixed, Mixed(code, prose));
  plan::PackedOptions pack;
  pack.pack.seq_length = 16;
  // A tokenizer.json does not name the token that closes a document.
  pack.pack.eos_token_id = 0;
  ARROW_ASSIGN_OR_RAISE(auto packed, plan::PackedPlan(mixed, pack));
  plan::LoadOptions load;
  load.loader.steps.batch_size = 4;
  ARROW_ASSIGN_OR_RAISE(auto loader, plan::MakeLoader(packed, load));

  if (std::ifstream saved(state_path); saved) {
    ARROW_RETURN_NOT_OK(loader->LoadState(nlohmann::json::parse(saved)));
  }
  for (int taken = 0; taken < steps; ++taken) {
    ARROW_ASSIGN_OR_RAISE(auto batch, loader->Take());
    for (const loader::LoaderColumn& column : batch->columns) {
      if (column.name != "input_ids") continue;
      const auto* ids = reinterpret_cast<const int32_t*>(column.data);
      const int64_t count = column.shape[0] * column.shape[1];
      std::cout << column.shape[0] << " x " << column.shape[1] << " tokens, sum "
                << std::accumulate(ids, ids + count, int64_t{0}) << "\n";
    }
  }
  std::ofstream(state_path) << loader->SaveState();
  return Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: train_stream TOKENIZER.json STATE.json STEPS CODE.jsonl PROSE.jsonl\n";
    return 2;
  }
  const Status status = Run(argv[1], argv[2], std::stoi(argv[3]), argv[4], argv[5]);
  if (!status.ok()) {
    std::cerr << "train_stream: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
