#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/tokenizer/added_tokens.h"
#include "easydata/tokenizer/model/string_table.h"
#include "easydata/tokenizer/pretokenize/split_scanner.h"

namespace easydata {

/// What the native engine takes from a tokenizer.json file.
struct TokenizerSpec {
  /// NFC, or no normalizer.
  bool nfc = false;
  SplitPattern pattern = SplitPattern::kGpt2;
  /// Put a space before every piece that does not start with one.
  bool add_prefix_space = false;
  /// The byte-level decoder, or none: tokens joined by spaces.
  bool byte_level_decoder = false;
  /// Model: the vocabulary's strings, the id of each, merges as pairs of numbers of `tokens`.
  StringTable tokens;
  std::vector<int32_t> ids;
  std::vector<std::pair<int32_t, int32_t>> merges;
  bool ignore_merges = false;
  /// The model names an unknown token or falls back to bytes: exact here only if no byte is
  /// unknown.
  bool needs_whole_alphabet = false;
  std::vector<AddedTokenSpec> added_tokens;
  /// Ids that the post-processor puts before and behind a text.
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;
};

/// Reads a tokenizer.json. NotImplemented, naming the component, for a file that the native engine
/// does not take (the reference may take or refuse it); Invalid for text that is no JSON object.
Result<TokenizerSpec> ParseTokenizerSpec(std::string_view json);

}  // namespace easydata
