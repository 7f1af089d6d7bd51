#pragma once

#include <cstdint>
#include <string_view>

#include "easydata/tokenizer/model/bpe_model.h"
#include "easydata/tokenizer/model/safe_cuts.h"
#include "easydata/tokenizer/model/word_cache.h"

namespace easydata {

/// Encodes pretokens part by part: cuts them where that is safe and remembers the parts, which come
/// again much more often than the whole in text that has no spaces. Holds a cache and scratch
/// memory, so it serves one thread at a time.
class PartEncoder {
 public:
  /// `cuts` may be nullptr: every pretoken is one part.
  PartEncoder(const BpeModel* model, const SafeCuts* cuts, int64_t cache_bytes);

  /// Writes the ids of a pretoken to `out`, which has room for word.size() of them. Returns their
  /// number.
  size_t Encode(std::string_view word, int32_t* out);

 private:
  size_t EncodePart(std::string_view part, int32_t* out);

  const BpeModel* model_;
  const SafeCuts* cuts_;
  WordCache cache_;
  MergeScratch scratch_;
};

}  // namespace easydata
