#pragma once

#include <cstdint>
#include <string_view>

#include "tokenizers/kernels.h"
#include "tokenizers/model/word_cache.h"
#include "tokenizers/piece_encoder.h"

namespace easydata::tokenizers {

/// Cuts pieces into words, looks those up in a cache and encodes new ones.
class WordEncoder : public PieceEncoder {
 public:
  /// Encodes a word that is not in its line and remembers it; called by the kernels. `out` has room
  /// for one id per byte and kSpareIds more. Returns the number of ids.
  size_t EncodeUnknown(std::string_view word, uint64_t hash, int32_t* out);

  WordCache& cache() { return cache_; }

  /// Room that kernels need after the ids of a run of words.
  static constexpr size_t kSpareIds = 8;

 protected:
  WordEncoder(const Kernels* kernels, int64_t cache_bytes);

  /// Returned by EncodeNew for a word that cannot be encoded.
  static constexpr size_t kFailed = SIZE_MAX;

  /// Writes the ids of a word to `out`, which has room for one per byte and kSpareIds more. Returns
  /// their number, or kFailed.
  virtual size_t EncodeNew(std::string_view word, int32_t* out) = 0;

  const Kernels& kernels() const { return *kernels_; }

  /// Words of one call of the kernels.
  static constexpr size_t kWordsPerRound = 1024;

 private:
  const Kernels* kernels_;
  WordCache cache_;
};

}  // namespace easydata::tokenizers
