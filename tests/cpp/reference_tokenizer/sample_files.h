#pragma once

#include <random>
#include <string>
#include <vector>

namespace easydata::tokenizers::reference {

/// A small tokenizer.json of a known family, or one made of odd parts.
struct SampleFile {
  std::string name;
  std::string json;
};

/// Files of all families: every model, most pre-tokenizers and normalizers, added tokens with all
/// flags. Always the same ones, built at the first call.
const std::vector<SampleFile>& SampleFiles();

/// Random text out of pieces that tokenizers treat differently, and of what the sample files'
/// vocabularies hold; `pieces` of them.
std::string SampleText(int pieces, std::mt19937* random);

}  // namespace easydata::tokenizers::reference
