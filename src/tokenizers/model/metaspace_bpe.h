#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizers/metaspace.h"
#include "tokenizers/model/char_bpe_model.h"

namespace easydata::tokenizers {

/// Character-level BPE of text whose spaces become "▁" and that no pre-tokenizer cuts (Llama 2,
/// Gemma), cut where no merge can join: each part is encoded, and remembered, by itself.
///
/// Whatever first spans a boundary is a merge of a symbol that ends there and one that starts
/// there: so a boundary is safe if no merge has a left side that ends in the character before it
/// and a right side that starts with the character after it. That holds because every character has
/// symbols of its own: its token or, else, its bytes' tokens, which no merge takes. Immutable.
class MetaspaceBpe {
 public:
  /// What is put before a piece.
  enum class Prepend {
    kNothing,
    kSpace,                // always
    kMissingSpace,         // where the piece does not start with one
    kMissingSpaceAtStart,  // the same for a piece at the start of its text
  };

  /// `normalizer` and `pre_tokenizer` are components or nothing. nullptr where the proof does not
  /// hold for these components and `model`, which the result points to.
  static std::unique_ptr<const MetaspaceBpe> Make(
      const std::optional<simdjson::dom::element>& normalizer,
      const std::optional<simdjson::dom::element>& pre_tokenizer, const Model* model);

  Prepend prepend() const { return prepend_; }

  /// Whether `c` becomes a space before the model sees it.
  bool IsSpace(char32_t c) const { return c == ' ' || (c == kMetaspace && spaces_are_metaspace_); }

  /// Writes the ids of the lone characters that text[*position, size) starts with and moves
  /// *position past them: characters of two or three bytes that no merge joins to another, as
  /// nearly all of Chinese is to Llama 2. `out` has room for one id per byte. Returns their number.
  size_t EncodeLone(const char* text, size_t size, size_t* position, int32_t* out) const;

  /// Writes the ends of parts of text[*position, size) to `ends`, at most `capacity`, and moves
  /// *position to the last of them. Stops, after the first part, before lone characters of which
  /// there are several.
  size_t FindParts(const char* text, size_t size, size_t* position, uint32_t* ends,
                   size_t capacity) const;

  /// The end of the first part of `text` where a space precedes it; 0 if it may be cut there.
  size_t FindCutAfterSpace(std::string_view text) const;

  /// The first offset after `from` where `text` may be cut, or npos.
  size_t FindCut(std::string_view text, size_t from) const;

  /// Writes the ids of a part to `out`, which has room for one per byte; returns their number.
  size_t EncodePart(std::string_view part, MergeScratch* scratch, int32_t* out) const;

 private:
  static constexpr uint32_t kAscii = 128;
  static constexpr int kTableBits = 20;
  static constexpr uint32_t kLoneLimit = 0x10000;
  // In lone_ids_: of characters that are not lone, and of lone ones that fall back to bytes.
  static constexpr int32_t kJoins = -1;
  static constexpr int32_t kBytes = -2;

  struct Components;

  MetaspaceBpe(const CharBpeModel* model, const Components& components);

  bool IsLone(char32_t c) const { return c < kLoneLimit && lone_ids_[c] != kJoins; }

  // Spaces as one character.
  char32_t Fold(char32_t c) const { return c == kMetaspace && spaces_are_metaspace_ ? U' ' : c; }
  bool MayJoin(char32_t left, char32_t right) const {
    if (left < kAscii && right < kAscii) return !is_safe_[left * kAscii + right];
    const uint32_t index = Index(left, right);
    return (table_[index / 64] >> index % 64 & 1) != 0;
  }
  static uint32_t Index(char32_t left, char32_t right) {
    const uint64_t hash = (uint64_t{left} << 21 | right) * 0x9E3779B97F4A7C15u;
    return static_cast<uint32_t>((hash ^ hash >> 31) * 0xBF58476D1CE4E5B9u >> (64 - kTableBits));
  }

  void AddJoints(bool split_at_spaces);
  void AddLone(const std::vector<bool>& joins);
  int32_t IdOf(char32_t folded) const;

  const CharBpeModel* model_;
  bool spaces_are_metaspace_;
  Prepend prepend_;
  int32_t ascii_ids_[kAscii];          // with the space's; -1: falls back to bytes
  std::vector<uint8_t> is_safe_;       // by pairs of ASCII characters
  std::vector<uint64_t> table_;        // other pairs, hashed: those that may join
  std::vector<int32_t> lone_ids_;      // by character
  std::vector<uint32_t> ascii_ranks_;  // of pairs of ASCII characters' tokens
};

}  // namespace easydata::tokenizers
