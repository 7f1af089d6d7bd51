// Writes the inputs that fuzzing starts from: tokenizer_seeds <folder for the loader> <folder for
// encoding>.

#include <fstream>
#include <random>
#include <string>

#include "reference_tokenizer/sample_files.h"

namespace {

void Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto& files = easydata::tokenizers::reference::SampleFiles();
  std::mt19937 random(1);
  for (size_t i = 0; i < files.size(); ++i) {
    Write(std::string(argv[1]) + "/" + files[i].name + ".json", files[i].json);
    for (char options = 0; options < 4; ++options) {
      const std::string text = easydata::tokenizers::reference::SampleText(12, &random);
      Write(std::string(argv[2]) + "/" + files[i].name + "-" + std::to_string(options),
            std::string(1, static_cast<char>(i)) + options + text.substr(0, 200));
    }
  }
  return 0;
}
