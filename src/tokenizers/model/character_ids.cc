#include "tokenizers/model/character_ids.h"

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

CharacterIds::CharacterIds(const Vocabulary& vocabulary, std::string_view prefix,
                           std::string_view suffix)
    : pages_(0x110000 / kPageSize, 0), ids_(kPageSize, -1) {
  for (int64_t i = 0; i < vocabulary.size(); ++i) {
    std::string_view token = vocabulary.tokens()[i];
    const size_t affixes = prefix.size() + suffix.size();
    if (token.size() <= affixes || token.size() > affixes + 4 || !token.starts_with(prefix) ||
        !token.ends_with(suffix)) {
      continue;
    }
    token = token.substr(prefix.size(), token.size() - affixes);
    const utf8::CodePoint c = utf8::Decode(token.data());
    if (static_cast<size_t>(c.length) == token.size()) Set(c.value, vocabulary.id_at(i));
  }
}

void CharacterIds::Set(char32_t character, int32_t id) {
  uint32_t& page = pages_[character / kPageSize];
  if (page == 0) {
    page = static_cast<uint32_t>(ids_.size());
    ids_.resize(ids_.size() + kPageSize, -1);
  }
  ids_[page + character % kPageSize] = id;
}

}  // namespace easydata::tokenizers
