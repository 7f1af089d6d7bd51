#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "easydata/tokenizer/kernels.h"
#include "easydata/tokenizer/model/bpe_model.h"
#include "easydata/tokenizer/model/word_cache.h"

namespace easydata {

/// Ids that grow at the end; room beyond the end is asked for before it is written.
class IdBuffer {
 public:
  size_t size() const { return size_; }
  int32_t* data() { return data_.get(); }
  const int32_t* data() const { return data_.get(); }

  /// Room for `count` more ids behind the last; valid until the next call.
  int32_t* Reserve(size_t count) {
    if (size_ + count > capacity_) Grow(size_ + count);
    return data_.get() + size_;
  }
  void Resize(size_t size) { size_ = size; }
  void Append(const std::vector<int32_t>& ids) {
    std::copy(ids.begin(), ids.end(), Reserve(ids.size()));
    size_ += ids.size();
  }

 private:
  void Grow(size_t capacity);

  std::unique_ptr<int32_t[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

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
