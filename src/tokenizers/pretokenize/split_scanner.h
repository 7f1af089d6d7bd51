#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace easydata::tokenizers {

/// Ways to cut text into pretokens, by the patterns that tokenizer.json files spell them with:
/// kGpt2        's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// kLlama3      (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
///              ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
/// kQwen2       kLlama3 with \p{N} for \p{N}{1,3}
/// kQwen35      kQwen2 with marks among the letters: [\p{L}\p{M}]+ and [^\s\p{L}\p{M}\p{N}]+
/// kO200k       letters by case with a contraction after them, [\r\n/]* after other characters
/// kTekken      kO200k without contractions, digits one by one
/// kDeepSeekV3  three in a row: \p{N}{1,3}, Chinese and Japanese, the rest (known_patterns.cc)
/// kDigitsGpt2  the Digits pre-tokenizer, each digit alone, before kGpt2
enum class SplitPattern : uint8_t {
  kGpt2,
  kLlama3,
  kQwen2,
  kQwen35,
  kO200k,
  kTekken,
  kDeepSeekV3,
  kDigitsGpt2,
};

inline constexpr size_t kNumSplitPatterns = 8;

/// The differences between the patterns.
struct SplitTraits {
  enum class Family : uint8_t { kGpt2, kLlama3, kO200k, kDeepSeek };
  /// Which contractions are pretokens (kExact in lower case only) or end one (kTrailing).
  enum class Contractions : uint8_t { kNone, kExact, kFolded, kTrailing };

  Family family;
  Contractions contractions;
  /// Digits of a pretoken; 0 for any number of them.
  int max_digits;
  bool marks_are_letters;
  /// Numbers are what the Digits pre-tokenizer takes for them, and stand apart from all else.
  bool digits_apart;
};

constexpr SplitTraits TraitsOf(SplitPattern pattern) {
  using Family = SplitTraits::Family;
  using Contractions = SplitTraits::Contractions;
  switch (pattern) {
    case SplitPattern::kGpt2:
      return {Family::kGpt2, Contractions::kExact, 0, false, false};
    case SplitPattern::kDigitsGpt2:
      return {Family::kGpt2, Contractions::kExact, 1, false, true};
    case SplitPattern::kLlama3:
      return {Family::kLlama3, Contractions::kFolded, 3, false, false};
    case SplitPattern::kQwen2:
      return {Family::kLlama3, Contractions::kFolded, 1, false, false};
    case SplitPattern::kQwen35:
      return {Family::kLlama3, Contractions::kFolded, 1, true, false};
    case SplitPattern::kO200k:
      return {Family::kO200k, Contractions::kTrailing, 3, true, false};
    case SplitPattern::kTekken:
      return {Family::kO200k, Contractions::kNone, 1, true, false};
    case SplitPattern::kDeepSeekV3:
      break;
  }
  return {Family::kDeepSeek, Contractions::kNone, 3, true, false};
}

/// Cuts text[*position, size) into pretokens until `capacity` are found or the text ends.
///
/// `text` is valid UTF-8 of less than 4 GiB and *position is where a pretoken starts. Writes where
/// each pretoken ends to `ends` (it starts where the one before it ended), moves *position to the
/// end of the last one and returns their number. Every byte of the text falls into one pretoken.
using SplitFunction = size_t (*)(const char* text, size_t size, size_t* position, uint32_t* ends,
                                 size_t capacity);

/// The scanners, by pattern, that look at one character at a time and run on every machine.
std::array<SplitFunction, kNumSplitPatterns> ScalarSplits();

}  // namespace easydata::tokenizers
