#include "tokenizers/model/char_bpe_model.h"

#include <algorithm>
#include <utility>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// Whether only tokens of one character, and what is made of them, are ever merged.
bool MergesCharactersOnly(const BpeSpec& spec) {
  if (!spec.merges_grow() || !spec.end_of_word_suffix.empty()) return false;
  std::vector<bool> stands_in(static_cast<size_t>(spec.vocabulary.id_limit()));
  const auto add = [&](std::string_view token) {
    if (const int32_t id = spec.vocabulary.Find(token); id >= 0) {
      stands_in[static_cast<size_t>(id)] = true;
    }
  };
  if (spec.unk_token) add(*spec.unk_token);
  for (int byte = 0; byte < 256; ++byte) add(ByteToken(static_cast<uint8_t>(byte)));
  return std::none_of(spec.merges.begin(), spec.merges.end(), [&](const Merge& merge) {
    return stands_in[static_cast<size_t>(merge.left)] ||
           stands_in[static_cast<size_t>(merge.right)] ||
           stands_in[static_cast<size_t>(merge.result)];
  });
}

}  // namespace

struct CharBpeModel::Scratch final : ModelScratch {
  MergeScratch merge;
  std::vector<int32_t> symbols;
  std::string mapped;
};

Result<std::unique_ptr<const CharBpeModel>> CharBpeModel::Make(BpeSpec spec, bool words_are_bytes) {
  ARROW_ASSIGN_OR_RAISE(MergeList merges,
                        MergesCharactersOnly(spec)
                            ? MergeList::MakeUseful(spec.merges, spec.vocabulary.CountCharacters())
                            : MergeList::Make(spec.merges, spec.vocabulary.id_limit()));
  return std::unique_ptr<const CharBpeModel>(
      new CharBpeModel(std::move(spec), std::move(merges), words_are_bytes));
}

CharBpeModel::CharBpeModel(BpeSpec spec, MergeList merges, bool words_are_bytes)
    : spec_(std::move(spec)),
      merges_(std::move(merges)),
      words_are_bytes_(words_are_bytes),
      merges_grow_(spec_.merges_grow()),
      plain_(spec_.vocabulary, "", "") {
  const std::string& prefix = spec_.continuing_subword_prefix;
  const std::string& suffix = spec_.end_of_word_suffix;
  if (!prefix.empty()) continuing_.emplace(spec_.vocabulary, prefix, "");
  if (!suffix.empty()) last_.emplace(spec_.vocabulary, "", suffix);
  if (!prefix.empty() && !suffix.empty())
    continuing_last_.emplace(spec_.vocabulary, prefix, suffix);
  if (spec_.unk_token) unk_id_ = spec_.vocabulary.Find(*spec_.unk_token);
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = spec_.vocabulary.Find(ByteToken(static_cast<uint8_t>(byte)));
  }
}

std::unique_ptr<ModelScratch> CharBpeModel::MakeScratch() const {
  return std::make_unique<Scratch>();
}

size_t CharBpeModel::max_ids_per_byte() const {
  if (!spec_.byte_fallback) return 1;
  // A character that falls back to bytes does so with its prefix and suffix, and a raw byte is a
  // character of up to two bytes.
  const size_t affixes = spec_.continuing_subword_prefix.size() + spec_.end_of_word_suffix.size();
  return affixes + (words_are_bytes_ ? 2 : 1);
}

Status CharBpeModel::EncodeWord(std::string_view word, ModelScratch* scratch, IdBuffer* ids) const {
  auto* memory = static_cast<Scratch*>(scratch);
  if (words_are_bytes_) {
    memory->mapped.clear();
    for (const char byte : word) {
      utf8::Append(ByteAlphabet::Get().character(static_cast<uint8_t>(byte)), &memory->mapped);
    }
    word = memory->mapped;
  }
  if (spec_.ignore_merges) {
    if (const int32_t id = spec_.vocabulary.Find(word); id >= 0) {
      *ids->Reserve(1) = id;
      ids->Resize(ids->size() + 1);
      return Status::OK();
    }
  }
  std::vector<int32_t>& symbols = memory->symbols;
  symbols.clear();
  ARROW_RETURN_NOT_OK(FindSymbols(word, &symbols));
  const size_t count = merges_grow_ && symbols.size() <= kMaxMergeSymbols
                           ? merges_.MergeFew(symbols.data(), symbols.size())
                           : merges_.MergeAny(symbols.data(), symbols.size(), &memory->merge);
  std::copy_n(symbols.data(), count, ids->Reserve(count));
  ids->Resize(ids->size() + count);
  return Status::OK();
}

Status CharBpeModel::FindSymbols(std::string_view word, std::vector<int32_t>* symbols) const {
  bool unk_pending = false;
  const auto flush = [&] {
    if (unk_pending) symbols->push_back(unk_id_);
    unk_pending = false;
  };
  for (size_t i = 0; i < word.size();) {
    const utf8::CodePoint c = utf8::Decode(word.data() + i);
    const bool is_first = i == 0;
    const bool is_last = i + c.length == word.size();
    const std::string_view character = word.substr(i, c.length);
    i += c.length;
    const CharacterIds* table = &plain_;
    if (!is_first && continuing_) {
      table = is_last && continuing_last_ ? &*continuing_last_ : &*continuing_;
    } else if (is_last && last_) {
      table = &*last_;
    }
    if (const int32_t id = (*table)[c.value]; id >= 0) {
      flush();
      symbols->push_back(id);
      continue;
    }
    if (spec_.byte_fallback && FallBackToBytes(character, is_first, is_last, symbols)) continue;
    if (!spec_.unk_token) continue;
    if (unk_id_ < 0) {
      return Status::Invalid("the tokenizer's model knows no token for \"", character,
                             "\", and its unk_token \"", *spec_.unk_token,
                             "\" is not in its vocabulary; add it there or remove unk_token");
    }
    if (!spec_.fuse_unk) flush();
    unk_pending = true;
  }
  flush();
  return Status::OK();
}

bool CharBpeModel::FallBackToBytes(std::string_view character, bool is_first, bool is_last,
                                   std::vector<int32_t>* symbols) const {
  const size_t before = symbols->size();
  const std::string_view none;
  const std::string_view prefix = spec_.continuing_subword_prefix;
  const std::string_view suffix = spec_.end_of_word_suffix;
  const std::string_view parts[] = {is_first ? none : prefix, character, is_last ? suffix : none};
  for (const std::string_view part : parts) {
    for (const char byte : part) {
      const int32_t id = byte_ids_[static_cast<uint8_t>(byte)];
      if (id < 0) {
        symbols->resize(before);
        return false;
      }
      symbols->push_back(id);
    }
  }
  return true;
}

}  // namespace easydata::tokenizers
