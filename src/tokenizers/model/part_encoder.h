#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizers/model/bpe_model.h"
#include "tokenizers/model/lone_characters.h"
#include "tokenizers/model/safe_cuts.h"
#include "tokenizers/model/word_cache.h"

namespace easydata::tokenizers {

/// Encodes pretokens part by part: cuts them where that is safe and remembers the parts, which
/// recur much more often than the whole in text that has no spaces. Holds a cache and scratch
/// memory, so it serves one thread at a time.
class PartEncoder {
 public:
  /// `cuts` may be nullptr: every pretoken is one part.
  PartEncoder(const BpeModel* model, const SafeCuts* cuts, int64_t cache_bytes);

  /// Writes the ids of a pretoken to `out`, which has room for word.size() of them. Returns their
  /// number.
  size_t Encode(std::string_view word, int32_t* out);

 private:
  // Parts whose cache lines are asked for before the first is looked up.
  static constexpr size_t kRound = 32;

  struct Part {
    const LoneCharacter* lone;  // or else:
    WordKey key;
    uint64_t hash;
    uint32_t begin;
    uint32_t size;
  };

  Part MakePart(std::string_view word, size_t begin, size_t end);
  size_t EncodePart(std::string_view word, const Part& part, int32_t* out);
  size_t EncodeShort(std::string_view text, const Part& part, int32_t* out);
  size_t EncodeLong(std::string_view text, int32_t* out);

  const BpeModel* model_;
  const SafeCuts* cuts_;
  LoneCharacters lone_;
  WordCache cache_;
  MergeScratch scratch_;
  std::vector<char> padded_;
};

}  // namespace easydata::tokenizers
