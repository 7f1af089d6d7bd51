#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/tokenizer/pretokenize/split_scanner.h"
#include "easydata/tokenizer/tokenizer_spec.h"

namespace easydata {

/// The slow twin of the native engine, for tests only: the patterns read alternative by alternative
/// with backtracking, merges tried one by one. Shares nothing with the engine but the table of
/// character classes.
class LiteralTokenizer {
 public:
  explicit LiteralTokenizer(TokenizerSpec spec);

  /// Ends of the pretokens of valid UTF-8 text.
  static std::vector<uint32_t> Split(SplitPattern pattern, std::string_view text);

  /// Ids of one pretoken.
  std::vector<int32_t> EncodeWord(std::string_view word) const;

  /// Ids of a text without added tokens, normalizer and special tokens.
  std::vector<int32_t> Encode(std::string_view text) const;

 private:
  TokenizerSpec spec_;
  std::map<std::string, int32_t, std::less<>> ids_;  // by token
  std::map<std::pair<int32_t, int32_t>, std::pair<size_t, int32_t>> merges_;
};

}  // namespace easydata
