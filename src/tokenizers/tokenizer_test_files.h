#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/pretokenize/split_scanner.h"

namespace easydata::tokenizers {

/// Each byte as the character that stands for it in byte-level vocabularies.
std::string Mapped(std::string_view bytes);

/// What a made-up tokenizer.json for tests holds.
struct TestFile {
  SplitPattern pattern = SplitPattern::kGpt2;
  bool ignore_merges = false;
  /// Bytes that the vocabulary lacks.
  std::string missing_bytes;
  /// Merges of byte strings, in order of rank; their results join the vocabulary.
  std::vector<std::pair<std::string, std::string>> merges;
  /// Tokens that no merge makes.
  std::vector<std::string> extra_tokens;
  /// JSON texts of components.
  std::string added_tokens = "[]";
  std::string normalizer = "null";
  std::string post_processor = "null";
};

/// The tokenizer.json text. Ids are given in the order of bytes, merge results, extra tokens.
std::string MakeTestFile(const TestFile& file);

/// JSON of an added token with the flags named in `flags`: w single_word, l lstrip, r rstrip, n
/// normalized, s special.
std::string AddedTokenJson(const std::string& content, const std::string& flags);

/// `count` random merges over the letters of `alphabet`, results no longer than 12 bytes.
std::vector<std::pair<std::string, std::string>> RandomMerges(const std::string& alphabet,
                                                              int count, std::mt19937* random);

/// Random text of characters that the patterns treat differently.
std::string RandomText(int length, std::mt19937* random);

}  // namespace easydata::tokenizers
