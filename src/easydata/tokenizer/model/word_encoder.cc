#include "easydata/tokenizer/model/word_encoder.h"

namespace easydata {

WordEncoder::WordEncoder(const Kernels* kernels, int64_t cache_bytes)
    : kernels_(kernels), cache_(cache_bytes, kernels->hash_key) {}

size_t WordEncoder::EncodeUnknown(std::string_view word, uint64_t hash, int32_t* out) {
  size_t count = word.size() > WordCache::kMaxLongBytes ? WordCache::kNotFound
                                                        : cache_.FindLong(word, hash, out);
  if (count != WordCache::kNotFound) return count;
  count = EncodeNew(word, out);
  if (count == kFailed) return 0;
  if (word.size() <= kMaxWordKeyBytes && count <= WordSlot::kMaxIds) {
    cache_.Insert(hash, MakeWordKey(word), out, count);
  } else {
    cache_.InsertLong(word, hash, out, count);
  }
  return count;
}

}  // namespace easydata
