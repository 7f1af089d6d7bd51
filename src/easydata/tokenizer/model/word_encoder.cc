#include "easydata/tokenizer/model/word_encoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "easydata/base/hash.h"
#include "easydata/tokenizer/byte_alphabet.h"

namespace easydata {

WordEncoder::WordEncoder(const BpeModel* model, SplitPattern pattern, const Kernels* kernels,
                         int64_t cache_bytes, const std::vector<WordSlot>& seeds)
    : model_(model),
      kernels_(kernels),
      split_(kernels->split[static_cast<int>(pattern)]),
      cache_(cache_bytes) {
  for (const WordSlot& seed : seeds) {
    cache_.Insert(kernels->hash_key(seed.key), seed.key, seed.ids, static_cast<size_t>(seed.count));
  }
}

void WordEncoder::Encode(std::string_view piece, const char* readable_end, size_t limit) {
  size_t position = 0;
  while (position < piece.size() && ids_.size() <= limit) {
    const size_t begin = position;
    const size_t count = split_(piece.data(), piece.size(), &position, ends_, kPretokensPerRound);
    int32_t* out = ids_.Reserve(position - begin + 4);
    const int32_t* end =
        kernels_->encode({piece.data(), begin, ends_, count, readable_end}, this, out);
    ids_.Resize(ids_.size() + static_cast<size_t>(end - out));
  }
}

size_t WordEncoder::EncodeUnknown(std::string_view word, uint64_t hash, int32_t* out) {
  size_t count = word.size() > WordCache::kMaxLongBytes ? WordCache::kNotFound
                                                        : cache_.FindLong(word, hash, out);
  if (count != WordCache::kNotFound) return count;
  count = model_->Encode(word, &scratch_, out);
  if (word.size() <= kMaxWordKeyBytes && count <= WordSlot::kMaxIds) {
    cache_.Insert(hash, MakeWordKey(word), out, count);
  } else {
    cache_.InsertLong(word, hash, out, count);
  }
  return count;
}

std::vector<WordSlot> MakeSeedWords(const BpeModel& model) {
  std::vector<WordSlot> seeds;
  MergeScratch scratch;
  std::string word;
  int32_t ids[kMaxWordKeyBytes];
  for (int64_t id = model.id_limit() - 1; id >= 0; --id) {
    if (!model.HasId(id)) continue;
    word.clear();
    if (!ByteAlphabet::Get().ToBytes(model.IdToToken(static_cast<int32_t>(id)), &word)) continue;
    if (word.empty() || word.size() > kMaxWordKeyBytes) continue;
    const size_t count = model.Encode(word, &scratch, ids);
    if (count > WordSlot::kMaxIds) continue;
    WordSlot seed = {MakeWordKey(word), {}, static_cast<int32_t>(count)};
    std::copy_n(ids, count, seed.ids);
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace easydata
