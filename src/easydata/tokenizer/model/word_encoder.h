#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "easydata/tokenizer/id_buffer.h"
#include "easydata/tokenizer/kernels.h"
#include "easydata/tokenizer/model/bpe_model.h"
#include "easydata/tokenizer/model/word_cache.h"

namespace easydata {

/// Turns pieces of text into ids: cuts them into pretokens, looks those up and merges what is new.
///
/// Holds a word cache and scratch memory, so it serves one thread at a time.
class WordEncoder {
 public:
  /// `seeds` are words to know from the start.
  WordEncoder(const BpeModel* model, SplitPattern pattern, const Kernels* kernels,
              int64_t cache_bytes, const std::vector<WordSlot>& seeds);

  /// Appends the ids of `piece`, valid UTF-8 of less than 4 GiB, to ids(). Bytes up to
  /// `readable_end` may be read, not used. Stops early once ids() holds more than `limit`; what it
  /// holds then is a true beginning.
  void Encode(std::string_view piece, const char* readable_end, size_t limit);

  IdBuffer& ids() { return ids_; }

  /// Encodes a pretoken that is in no slot and remembers it; called by the kernels. `out` has room
  /// for one id per byte. Returns the number of ids.
  size_t EncodeUnknown(std::string_view word, uint64_t hash, int32_t* out);

  WordCache& cache() { return cache_; }

 private:
  static constexpr size_t kPretokensPerRound = 1024;

  const BpeModel* model_;
  const Kernels* kernels_;
  SplitFunction split_;
  WordCache cache_;
  MergeScratch scratch_;
  IdBuffer ids_;
  uint32_t ends_[kPretokensPerRound];
};

/// The vocabulary's own words of few ids, to seed word caches with: made by merging, since a token
/// need not be what its bytes merge to. The last are the most frequent.
std::vector<WordSlot> MakeSeedWords(const BpeModel& model);

}  // namespace easydata
