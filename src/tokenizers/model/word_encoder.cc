#include "tokenizers/model/word_encoder.h"

namespace easydata::tokenizers {

WordEncoder::WordEncoder(const Kernels* kernels, int64_t cache_bytes)
    : kernels_(kernels), cache_(cache_bytes, kernels->hash_key) {}

size_t WordEncoder::EncodeUnknown(std::string_view word, uint64_t hash, int32_t* out) {
  const bool has_key = word.size() <= kMaxWordKeyBytes;
  const WordKey key = has_key ? MakeWordKey(word) : WordKey();
  if (has_key) {
    const uint64_t* const packed = cache_.table().FindBeside(hash, key);
    if (packed != nullptr) return WordTable::Unpack(packed, out);
  }
  size_t count = word.size() > WordCache::kMaxLongBytes ? WordCache::kNotFound
                                                        : cache_.FindLong(word, hash, out);
  if (count != WordCache::kNotFound) return count;
  count = EncodeNew(word, out);
  if (count == kFailed) return 0;
  if (has_key && WordTable::Takes(key, out, count)) {
    cache_.table().Insert(hash, key, out, count);
  } else {
    cache_.InsertLong(word, hash, out, count);
  }
  return count;
}

}  // namespace easydata::tokenizers
