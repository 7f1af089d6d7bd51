#include "tokenizers/model/part_encoder.h"

#include <bit>
#include <cstring>

#include "easydata/base/hash.h"

namespace easydata::tokenizers {
namespace {

// Bytes after a word that keys may take in before they are masked out.
constexpr size_t kPadding = sizeof(WordKey);

// MakeWordKey of text that kPadding bytes follow.
WordKey LoadKey(const char* text, size_t size) {
  if constexpr (std::endian::native != std::endian::little) return MakeWordKey({text, size});
  uint64_t low, high;
  std::memcpy(&low, text, 8);
  std::memcpy(&high, text + 8, 8);
  const auto keep = [](size_t bytes) { return (uint64_t{1} << 8 * bytes) - 1; };
  if (size < 8) {
    low &= keep(size);
    high = 0;
  } else {
    high &= keep(size - 8);
  }
  return MakeWordKey(low, high | uint64_t{size} << 56, IsNarrowWord(low, size));
}

}  // namespace

PartEncoder::PartEncoder(const BpeModel* model, const SafeCuts* cuts, int64_t cache_bytes)
    : model_(model), cuts_(cuts), lone_(model, cuts), cache_(cache_bytes, HashWordKey) {}

size_t PartEncoder::Encode(std::string_view word, int32_t* out) {
  if (cuts_ == nullptr) return model_->Encode(word, &scratch_, out);
  if (const int32_t id = model_->FindWord(word); id >= 0) {
    *out = id;
    return 1;
  }
  padded_.resize(word.size() + kPadding);
  std::memcpy(padded_.data(), word.data(), word.size());
  word = {padded_.data(), word.size()};
  const int32_t* const start = out;
  Part parts[kRound];
  for (size_t begin = 0; begin < word.size();) {
    size_t count = 0;
    for (; count < kRound && begin < word.size(); ++count) {
      parts[count].lone = lone_.Find(word, begin);
      if (parts[count].lone != nullptr) {
        begin += LoneCharacters::kBytes;
        continue;
      }
      const size_t end = cuts_->FindCut(word, begin);
      parts[count] = MakePart(word, begin, end);
      begin = end;
    }
    for (size_t i = 0; i < count; ++i) out += EncodePart(word, parts[i], out);
  }
  return static_cast<size_t>(out - start);
}

PartEncoder::Part PartEncoder::MakePart(std::string_view word, size_t begin, size_t end) {
  Part part = {nullptr, {}, 0, static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin)};
  if (part.size <= kMaxWordKeyBytes) {
    part.key = LoadKey(word.data() + begin, part.size);
    part.hash = HashWordKey(part.key);
    __builtin_prefetch(cache_.table().line(part.hash, part.key.is_narrow()));
  }
  return part;
}

size_t PartEncoder::EncodePart(std::string_view word, const Part& part, int32_t* out) {
  if (part.lone != nullptr) {
    std::memcpy(out, part.lone->ids, sizeof(part.lone->ids));
    return part.lone->num_ids;
  }
  const std::string_view text = word.substr(part.begin, part.size);
  return text.size() > kMaxWordKeyBytes ? EncodeLong(text, out) : EncodeShort(text, part, out);
}

size_t PartEncoder::EncodeShort(std::string_view text, const Part& part, int32_t* out) {
  const uint64_t* const packed = cache_.table().Find(part.hash, part.key);
  if (packed != nullptr) return WordTable::Unpack(packed, out);
  const size_t count = model_->EncodePart(text, &scratch_, out);
  if (WordTable::Takes(part.key, out, count)) {
    cache_.table().Insert(part.hash, part.key, out, count);
  }
  return count;
}

size_t PartEncoder::EncodeLong(std::string_view text, int32_t* out) {
  if (text.size() > WordCache::kMaxLongBytes) return model_->EncodePart(text, &scratch_, out);
  const uint64_t hash = Hash64(text);
  size_t count = cache_.FindLong(text, hash, out);
  if (count != WordCache::kNotFound) return count;
  count = model_->EncodePart(text, &scratch_, out);
  cache_.InsertLong(text, hash, out, count);
  return count;
}

}  // namespace easydata::tokenizers
