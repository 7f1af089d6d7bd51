#include "tokenizers/model/bpe_model.h"

#include <algorithm>
#include <utility>

#include "easydata/base/hash.h"
#include "tokenizers/byte_alphabet.h"
#include "tokenizers/component_json.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

constexpr int kWordFilterBits = 20;

int32_t IdOfByte(const Vocabulary& vocabulary, int byte) {
  std::string character;
  utf8::Append(ByteAlphabet::Get().character(static_cast<uint8_t>(byte)), &character);
  return vocabulary.Find(character);
}

bool KnowsAllBytes(const Vocabulary& vocabulary) {
  for (int byte = 0; byte < 256; ++byte) {
    if (IdOfByte(vocabulary, byte) < 0) return false;
  }
  return true;
}

}  // namespace

bool BpeModel::Takes(const BpeSpec& spec) {
  return spec.continuing_subword_prefix.empty() && spec.end_of_word_suffix.empty() &&
         spec.merges_grow() &&
         ((!spec.unk_token && !spec.byte_fallback) || KnowsAllBytes(spec.vocabulary));
}

Result<std::unique_ptr<const BpeModel>> BpeModel::Make(BpeSpec spec, MergeFunction merge) {
  std::unique_ptr<BpeModel> model(new BpeModel);
  ARROW_ASSIGN_OR_RAISE(model->merges_,
                        MergeList::MakeUseful(spec.merges, spec.vocabulary.CountCharacters()));
  model->vocabulary_ = std::move(spec.vocabulary);
  model->merge_ = merge;
  for (int byte = 0; byte < 256; ++byte) {
    model->byte_ids_[byte] = IdOfByte(model->vocabulary_, byte);
    model->knows_all_bytes_ = model->knows_all_bytes_ && model->byte_ids_[byte] >= 0;
  }
  model->tables_ = model->merges_.tables();
  model->byte_pair_ranks_.assign(256 * 256, MergeTables::kNoRank);
  for (size_t pair = 0; pair < model->byte_pair_ranks_.size(); ++pair) {
    const int32_t left = model->byte_ids_[pair / 256], right = model->byte_ids_[pair % 256];
    if (left >= 0 && right >= 0) {
      model->byte_pair_ranks_[pair] = model->tables_.FindRank(left, right);
    }
  }
  model->tables_.byte_pair_ranks = model->byte_pair_ranks_.data();
  model->ignore_merges_ = spec.ignore_merges;
  if (spec.ignore_merges) model->IndexWords();
  return std::unique_ptr<const BpeModel>(std::move(model));
}

size_t BpeModel::FilterBit(std::string_view word) { return Hash64(word) >> (64 - kWordFilterBits); }

void BpeModel::IndexWords() {
  word_filter_.assign((size_t{1} << kWordFilterBits) / 64, 0);
  const StringTable& tokens = vocabulary_.tokens();
  // Room for so many that hardly a line is full.
  short_words_.emplace(static_cast<size_t>(tokens.size()) * sizeof(WordLine), HashWordKey);
  std::string bytes;
  const auto for_each_word = [&](const auto& visit) {
    for (int64_t i = 0; i < tokens.size(); ++i) {
      bytes.clear();
      if (!ByteAlphabet::Get().ToBytes(tokens[i], &bytes) || bytes.empty()) continue;
      const int32_t id = vocabulary_.id_at(i);
      const bool has_key = bytes.size() <= kMaxWordKeyBytes;
      const WordKey key = has_key ? MakeWordKey(bytes) : WordKey();
      visit(id, key, has_key && WordTable::Takes(key, &id, 1));
    }
  };
  for_each_word([&](int32_t id, const WordKey& key, bool is_short) {
    const size_t bit = FilterBit(bytes);
    word_filter_[bit / 64] |= uint64_t{1} << bit % 64;
    longest_word_ = std::max(longest_word_, bytes.size());
    if (is_short) short_words_->Insert(HashWordKey(key), key, &id, 1);
  });
  for_each_word([&](int32_t id, const WordKey& key, bool is_short) {
    if (is_short && short_words_->Find(HashWordKey(key), key) != nullptr) return;
    words_.Insert(bytes);
    word_ids_.push_back(id);
  });
}

int32_t BpeModel::FindWord(std::string_view word) const {
  if (!ignore_merges_ || word.empty() || word.size() > longest_word_) return -1;
  const size_t bit = FilterBit(word);
  if ((word_filter_[bit / 64] >> bit % 64 & 1) == 0) return -1;
  if (word.size() <= kMaxWordKeyBytes) {
    const WordKey key = MakeWordKey(word);
    const uint64_t* const packed = short_words_->Find(HashWordKey(key), key);
    if (packed != nullptr) return WordTable::FirstId(packed);
  }
  const int32_t index = words_.Find(word);
  return index < 0 ? -1 : word_ids_[index];
}

size_t BpeModel::Encode(std::string_view word, MergeScratch* scratch, int32_t* out) const {
  if (const int32_t id = FindWord(word); id >= 0) {
    *out = id;
    return 1;
  }
  return EncodePart(word, scratch, out);
}

size_t BpeModel::EncodePart(std::string_view part, MergeScratch* scratch, int32_t* out) const {
  size_t count = 0;
  if (part.size() > kMaxMergeSymbols) {
    for (const char byte : part) {
      out[count] = byte_ids_[static_cast<uint8_t>(byte)];
      count += out[count] >= 0 ? 1 : 0;
    }
    return merges_.MergeAny(out, count, scratch);
  }
  uint8_t bytes[kMaxMergeSymbols];
  for (const char byte : part) {
    bytes[count] = static_cast<uint8_t>(byte);
    out[count] = byte_ids_[bytes[count]];
    count += out[count] >= 0 ? 1 : 0;
  }
  return count < 2 ? count : merge_(tables_, bytes, out, count);
}

}  // namespace easydata::tokenizers
