#pragma once

#include <cstddef>
#include <cstdint>

/// What script/generate_character_sets.py probed from the pinned `tokenizers` library's regex
/// engine (Oniguruma with Unicode 16).
namespace easydata::tokenizers::character_set_tables {

enum class SetKind : uint8_t { kCategory, kScript, kProperty };

/// A name in lower case without '_': the code points with `value` in the ranges of its kind belong
/// to the set. A name in several entries is their union.
struct SetName {
  const char* name;
  SetKind kind;
  uint8_t value;
};

/// Code points first..last have `value`.
struct SetRange {
  uint32_t first;
  uint32_t last;
  uint8_t value;
};

/// Characters with the same `key` are the same under (?i).
struct FoldedCharacter {
  uint32_t code_point;
  uint32_t key;
};

/// A character that matches two or three others under (?i); zeros after them.
struct MultiFold {
  uint32_t code_point;
  uint32_t folded[3];
};

extern const SetName kSetNames[];
extern const size_t kNumSetNames;

/// Every code point but surrogates, in order, by general category.
extern const SetRange kCategoryRanges[];
extern const size_t kNumCategoryRanges;

/// The same by script.
extern const SetRange kScriptRanges[];
extern const size_t kNumScriptRanges;

/// Properties that overlap, one after the other.
extern const SetRange kPropertyRanges[];
extern const size_t kNumPropertyRanges;

/// In the order of keys.
extern const FoldedCharacter kFoldedCharacters[];
extern const size_t kNumFoldedCharacters;

extern const MultiFold kMultiFolds[];
extern const size_t kNumMultiFolds;

}  // namespace easydata::tokenizers::character_set_tables
