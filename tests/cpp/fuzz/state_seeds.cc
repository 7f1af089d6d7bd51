// Writes the inputs that fuzzing starts from: state_seeds <folder for states>.

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "state_pipeline.h"

namespace {

namespace fuzz = easydata::fuzz;

void Write(const std::string& path, char head, const nlohmann::json& state) {
  std::ofstream(path, std::ios::binary) << head << state.dump();
}

}  // namespace

/// The states of each pipeline up to the end of its second pass: whole, those of another mix, and
/// only what differs from step to step.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int pipeline = 0; pipeline < fuzz::kNumPipelines; ++pipeline) {
    // Bytes whose remainder names the pipeline, with the bits that state_fuzz.cc reads.
    const auto head = [pipeline](int bits) {
      char byte = static_cast<char>(bits);
      while (static_cast<uint8_t>(byte) % fuzz::kNumPipelines != pipeline) ++byte;
      return byte;
    };
    const auto loader = fuzz::MakeLoader(pipeline);
    int step = 0;
    for (int ends = 0; ends < 2; ++step) {
      nlohmann::json state = loader->SaveState();
      const std::string path =
          std::string(argv[1]) + "/" + std::to_string(pipeline) + "-" + std::to_string(step);
      if (step % 7 == 0) Write(path + "-whole", head(0), state);
      if (step % 7 == 0) {
        nlohmann::json other = state;
        other["mix"]["mix.weights"] = {0.25, 0.75};
        Write(path + "-other-mix", head(0x40), other);
      }
      state.erase("plan");
      state.erase("mix");
      Write(path + "-position", head(0x80), state);
      if (!loader->Take().ValueOrDie().has_value()) ++ends;
    }
  }
  return 0;
}
