#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/tokenizer.h"

namespace easydata::tokenizers {

/// Tells which bytes of a text its tokens cover, by how the tokens are spelled.
///
/// Tokens of byte-level BPE spell bytes, those of SentencePiece's kind spell text with a character
/// for the space; written one after the other they are the text, unless a normalizer has changed
/// it. Where they are not, spelling does not tell, and nothing is guessed. Immutable and
/// thread-safe.
class TokenSpans {
 public:
  /// Copies the spellings, some megabytes; `tokenizer` need not live on.
  explicit TokenSpans(const Tokenizer& tokenizer);

  /// Replaces *ends by the byte after the last that each of `ids` covers; each begins where the one
  /// before ends. `ids` are those of the whole `text` without special tokens around it. False, with
  /// *ends unspecified, where spelling does not tell.
  bool Find(std::string_view text, std::span<const int32_t> ids, std::vector<size_t>* ends) const;

  /// Whether an id is a special token's.
  bool IsSpecial(int32_t id) const;

 private:
  /// How tokens spell text.
  enum class Alphabet { kBytes, kSpaces };

  /// The spellings of all tokens in an alphabet, by id.
  struct Spellings {
    std::string bytes;
    std::vector<uint32_t> starts = {0};

    std::string_view Of(size_t id) const {
      return std::string_view(bytes).substr(starts[id], starts[id + 1] - starts[id]);
    }
  };

  enum Flag : uint8_t { kAdded = 1, kSpecial = 2, kStripsLeft = 4, kStripsRight = 8 };

  template <Alphabet alphabet>
  bool FindIn(const Spellings& spellings, std::string_view text, std::span<const int32_t> ids,
              std::vector<size_t>* ends) const;

  std::vector<uint8_t> flags_;  // by id
  Spellings of_bytes_;
  Spellings of_spaces_;
};

}  // namespace easydata::tokenizers
