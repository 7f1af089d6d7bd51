#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizers/model/vocabulary.h"

namespace easydata::tokenizers {

/// The ids of tokens that are one character, perhaps between a fixed prefix and suffix, by code
/// point.
class CharacterIds {
 public:
  /// Takes the tokens that are `prefix`, one character and `suffix`.
  CharacterIds(const Vocabulary& vocabulary, std::string_view prefix, std::string_view suffix);

  /// The id of a character, or -1.
  int32_t operator[](char32_t character) const {
    return ids_[pages_[character / kPageSize] + character % kPageSize];
  }

 private:
  static constexpr uint32_t kPageSize = 256;

  void Set(char32_t character, int32_t id);

  std::vector<uint32_t> pages_;  // where in ids_ a page starts; 0: the page of no ids
  std::vector<int32_t> ids_;
};

}  // namespace easydata::tokenizers
