#include "easydata/tokenizer/model/part_encoder.h"

#include <cstring>

#include "easydata/base/hash.h"

namespace easydata {
namespace {

uint64_t HashOf(const WordKey& key) {
  const uint64_t hash =
      key.low * 0x9E3779B97F4A7C15u ^ (key.high + 0x632BE59BD9B4E019u) * 0xD6E8FEB86659FD93u;
  return (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u >> 20;
}

}  // namespace

PartEncoder::PartEncoder(const BpeModel* model, const SafeCuts* cuts, int64_t cache_bytes)
    : model_(model), cuts_(cuts), cache_(cache_bytes) {}

size_t PartEncoder::Encode(std::string_view word, int32_t* out) {
  if (cuts_ == nullptr) return model_->Encode(word, &scratch_, out);
  if (const int32_t id = model_->FindWord(word); id >= 0) {
    *out = id;
    return 1;
  }
  const int32_t* const begin = out;
  for (size_t part = 0; part < word.size();) {
    const size_t end = cuts_->FindCut(word, part);
    out += EncodePart(word.substr(part, end - part), out);
    part = end;
  }
  return static_cast<size_t>(out - begin);
}

size_t PartEncoder::EncodePart(std::string_view part, int32_t* out) {
  if (part.size() > kMaxWordKeyBytes) {
    if (part.size() > WordCache::kMaxLongBytes) return model_->EncodePart(part, &scratch_, out);
    const uint64_t hash = Hash64(part);
    size_t count = cache_.FindLong(part, hash, out);
    if (count != WordCache::kNotFound) return count;
    count = model_->EncodePart(part, &scratch_, out);
    cache_.InsertLong(part, hash, out, count);
    return count;
  }
  const WordKey key = MakeWordKey(part);
  const uint64_t hash = HashOf(key);
  const WordSlot* slot = cache_.bucket(hash);
  if (!(slot->key == key)) ++slot;
  if (slot->key == key) {
    std::memcpy(out, slot->ids, static_cast<size_t>(slot->count) * sizeof(int32_t));
    return static_cast<size_t>(slot->count);
  }
  const size_t count = model_->EncodePart(part, &scratch_, out);
  if (count <= WordSlot::kMaxIds) cache_.Insert(hash, key, out, count);
  return count;
}

}  // namespace easydata
