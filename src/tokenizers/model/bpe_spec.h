#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/model/merge_list.h"
#include "tokenizers/model/vocabulary.h"

namespace easydata::tokenizers {

/// The content of a model of type BPE.
struct BpeSpec {
  Vocabulary vocabulary;
  std::vector<Merge> merges;  // by rank
  /// Stands for characters that the vocabulary lacks. It may lack this token, too: then such
  /// characters are errors. With none they vanish.
  std::optional<std::string> unk_token;
  /// Consecutive unknown characters become one token.
  bool fuse_unk = false;
  /// Unknown characters become tokens <0xHH> of their bytes where the vocabulary has all of them.
  bool byte_fallback = false;
  /// A word that is a token is that token.
  bool ignore_merges = false;
  /// Put before every character but the first of a word, and after the last, to look it up.
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;

  /// Whether every merge makes a longer token out of two, and no id has two tokens: then an order
  /// of merging has no room for quirks.
  bool merges_grow() const;
};

/// Reads a model of type BPE. NotImplemented for dropout and for what is malformed.
Result<BpeSpec> ParseBpe(simdjson::dom::object model);

/// The token <0xHH> for a byte.
std::string ByteToken(uint8_t byte);

}  // namespace easydata::tokenizers
