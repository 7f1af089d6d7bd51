#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "tokenizers/model/bpe_model.h"
#include "tokenizers/model/safe_cuts.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

/// A character of three bytes as a part of its own.
struct LoneCharacter {
  int32_t ids[3];
  /// By the low four bits of a lead byte of three: whether a merge may take this character's last
  /// symbol together with one that starts with that byte.
  uint16_t joins;
  uint8_t num_ids;  // 0: not known yet
};

/// The ids of characters of three bytes, learned one by one. Serves one thread at a time.
class LoneCharacters {
 public:
  static constexpr size_t kBytes = 3;

  LoneCharacters(const BpeModel* model, const SafeCuts* cuts) : model_(model), cuts_(cuts) {}

  static bool IsLead(char byte) { return (static_cast<uint8_t>(byte) & 0xF0) == 0xE0; }

  /// The character at `begin`, after a safe cut, if the word may be cut after it, too; nullptr if
  /// not, or if it has not three bytes.
  const LoneCharacter* Find(std::string_view word, size_t begin) {
    if (!IsLead(word[begin]) || word.size() - begin < kBytes) return nullptr;
    const LoneCharacter& found = Get(word.data() + begin);
    const size_t end = begin + kBytes;
    if (end == word.size()) return &found;
    const bool is_safe = IsLead(word[end]) && (found.joins >> (word[end] & 0x0F) & 1) == 0;
    return is_safe || cuts_->IsSafe(word.data(), word.size(), end) ? &found : nullptr;
  }

 private:
  static constexpr size_t kPageBits = 8;
  using Page = std::array<LoneCharacter, size_t{1} << kPageBits>;

  const LoneCharacter& Get(const char* p) {
    const char32_t c = utf8::Decode(p).value;
    const std::unique_ptr<Page>& page = pages_[c >> kPageBits];
    if (page != nullptr) {
      const LoneCharacter& known = (*page)[c % page->size()];
      if (known.num_ids > 0) return known;
    }
    return Learn(p, c);
  }

  const LoneCharacter& Learn(const char* p, char32_t c);

  const BpeModel* model_;
  const SafeCuts* cuts_;
  std::array<std::unique_ptr<Page>, size_t{1} << (16 - kPageBits)> pages_;
  MergeScratch scratch_;
};

}  // namespace easydata::tokenizers
