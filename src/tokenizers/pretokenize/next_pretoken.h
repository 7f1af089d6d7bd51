#pragma once

#include <cstdint>

#include "tokenizers/pretokenize/scan_classes.h"
#include "tokenizers/pretokenize/split_scanner.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

/// One character's scan classes and length.
struct ScannedChar {
  uint8_t classes;
  int length;

  bool Is(uint8_t any_of) const { return (classes & any_of) != 0; }
};

inline ScannedChar ScanChar(const char* p, const uint8_t* table) {
  const utf8::CodePoint c = utf8::Decode(p);
  return {table[c.value], c.length};
}

inline bool IsLineBreak(char c) { return c == '\r' || c == '\n'; }

/// The end of the run of characters from `p` on that have one of the classes `any_of`.
inline const char* SkipAny(const char* p, const char* end, uint8_t any_of, const uint8_t* table) {
  while (p < end) {
    const ScannedChar c = ScanChar(p, table);
    if (!c.Is(any_of)) break;
    p += c.length;
  }
  return p;
}

/// The same for characters that have none of them.
inline const char* SkipNone(const char* p, const char* end, uint8_t none_of, const uint8_t* table) {
  while (p < end) {
    const ScannedChar c = ScanChar(p, table);
    if (c.Is(none_of)) break;
    p += c.length;
  }
  return p;
}

/// The end of up to `max_digits` numbers from `p` on, or of all for 0.
inline const char* SkipNumbers(const char* p, const char* end, int max_digits,
                               const uint8_t* table) {
  for (int digits = 0; p < end && (max_digits == 0 || digits < max_digits); ++digits) {
    const ScannedChar c = ScanChar(p, table);
    if (!c.Is(kScanNumber)) break;
    p += c.length;
  }
  return p;
}

/// Length of the contraction at `p`, which points at an apostrophe, or 0. GPT-2's pattern wants
/// lower case; the others fold case as Unicode does: U+017F, the long s, is an s.
template <SplitPattern kPattern>
inline int ContractionLength(const char* p, const char* end) {
  constexpr SplitTraits kTraits = TraitsOf(kPattern);
  if (kTraits.contractions == SplitTraits::Contractions::kNone || end - p < 2) return 0;
  constexpr bool kFolds = kTraits.contractions != SplitTraits::Contractions::kExact;
  constexpr char kFold = kFolds ? 0x20 : 0;
  const char a = static_cast<char>(p[1] | kFold);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (end - p < 3) return 0;
  if (kFolds && p[1] == '\xC5' && p[2] == '\xBF') return 3;
  const char b = static_cast<char>(p[2] | kFold);
  if ((a == 'r' || a == 'v') && b == 'e') return 3;
  return a == 'l' && b == 'l' ? 3 : 0;
}

/// The end of the white space at `p`, where no other alternative takes it: up to the last line
/// break of its run, if `breaks_end`; or all of it at the end of the text; or all but its last
/// character. `ends_text` says whether the character after it is of another text.
template <typename EndsText>
inline const char* SkipWhiteSpace(const char* p, const char* end, bool breaks_end,
                                  const EndsText& ends_text, const uint8_t* table) {
  const char* last = p;
  const char* after_break = nullptr;
  const char* q = p;
  bool at_end = true;
  while (q < end) {
    const ScannedChar c = ScanChar(q, table);
    if (!c.Is(kScanSpace)) {
      at_end = ends_text(c);
      break;
    }
    last = q;
    q += c.length;
    if (breaks_end && IsLineBreak(*last)) after_break = q;
  }
  if (after_break != nullptr) return after_break;
  return at_end || last == p ? q : last;
}

/// Letters by case from `p` on, as `[UN]*[LN]+|[UN]+[LN]*` with U upper, L lower case and N letters
/// and marks without case: `first` for the first alternative, which gives characters back to find a
/// last one for [LN]+. nullptr when it does not match.
inline const char* SkipCasedLetters(const char* p, const char* end, bool first,
                                    const uint8_t* table) {
  const char* q = p;
  const char* behind_neutral = nullptr;
  while (q < end) {
    const ScannedChar c = ScanChar(q, table);
    if (c.Is(kScanLower) || !c.Is(kScanLetter | kScanMark)) break;
    q += c.length;
    if (!c.Is(kScanUpper)) behind_neutral = q;
  }
  if (!first) return q > p ? q : nullptr;
  const char* const upper_end = q;
  while (q < end) {
    const ScannedChar c = ScanChar(q, table);
    if (c.Is(kScanUpper) || !c.Is(kScanLetter | kScanMark)) break;
    q += c.length;
  }
  return q > upper_end ? q : behind_neutral;
}

namespace next_pretoken_internal {

template <SplitPattern kPattern>
inline const char* NextGpt2(const char* p, const char* end, const uint8_t* table) {
  constexpr SplitTraits kTraits = TraitsOf(kPattern);
  if (*p == '\'') {
    if (const int length = ContractionLength<kPattern>(p, end); length > 0) return p + length;
  }
  const auto skip_run = [&](const char* q, ScannedChar c) {
    if (c.Is(kScanNumber)) return SkipNumbers(q, end, kTraits.max_digits, table);
    if (c.Is(kScanLetter)) return SkipAny(q, end, kScanLetter, table);
    return SkipNone(q, end, kScanLetter | kScanNumber | kScanSpace, table);
  };
  const ScannedChar first = ScanChar(p, table);
  if (!first.Is(kScanSpace)) return skip_run(p, first);
  if (*p == ' ' && p + 1 < end) {
    const ScannedChar second = ScanChar(p + 1, table);
    const bool apart = kTraits.digits_apart && second.Is(kScanNumber);
    if (!second.Is(kScanSpace) && !apart) return skip_run(p + 1, second);
  }
  const auto ends_text = [&](ScannedChar c) { return kTraits.digits_apart && c.Is(kScanNumber); };
  return SkipWhiteSpace(p, end, /*breaks_end=*/false, ends_text, table);
}

// kLlama3, kO200k and their like.
template <SplitPattern kPattern>
inline const char* NextLlama3(const char* p, const char* end, const uint8_t* table) {
  constexpr SplitTraits kTraits = TraitsOf(kPattern);
  constexpr bool kCased = kTraits.family == SplitTraits::Family::kO200k;
  constexpr uint8_t kLetters = kScanLetter | (kTraits.marks_are_letters ? kScanMark : 0);
  // With letters by case, a mark among other characters is one of them.
  constexpr uint8_t kNotOther = kScanNumber | kScanSpace | (kCased ? kScanLetter : kLetters);
  const ScannedChar first = ScanChar(p, table);
  const char* const second = p + first.length;
  const bool may_prefix = !first.Is(kScanLetter | kScanNumber) && !IsLineBreak(*p);
  if constexpr (kCased) {
    for (const bool first_alternative : {true, false}) {
      const char* q = nullptr;
      if (may_prefix) q = SkipCasedLetters(second, end, first_alternative, table);
      if (q == nullptr) q = SkipCasedLetters(p, end, first_alternative, table);
      if (q == nullptr) continue;
      return q < end && *q == '\'' ? q + ContractionLength<kPattern>(q, end) : q;
    }
  } else {
    if (*p == '\'') {
      if (const int length = ContractionLength<kPattern>(p, end); length > 0) return p + length;
    }
    const bool prefixes = may_prefix && second < end && ScanChar(second, table).Is(kLetters);
    if (prefixes || first.Is(kLetters)) return SkipAny(second, end, kLetters, table);
  }
  if (first.Is(kScanNumber)) return SkipNumbers(p, end, kTraits.max_digits, table);
  const char* const other = *p == ' ' ? second : p;
  if (const char* q = SkipNone(other, end, kNotOther, table); q > other) {
    while (q < end && (IsLineBreak(*q) || (kCased && *q == '/'))) ++q;
    return q;
  }
  return SkipWhiteSpace(
      p, end, /*breaks_end=*/true, [](ScannedChar) { return false; }, table);
}

// Numbers, and runs of Chinese and Japanese, are texts of their own: nothing looks beyond them.
inline const char* NextDeepSeek(const char* p, const char* end, const uint8_t* table) {
  const ScannedChar first = ScanChar(p, table);
  if (first.Is(kScanNumber)) return SkipNumbers(p, end, 3, table);
  const auto is_apart = [first](ScannedChar c) {
    return c.Is(kScanNumber) || ((c.classes ^ first.classes) & kScanCjk) != 0;
  };
  const auto skip = [&](const char* q, uint8_t any_of) {
    while (q < end) {
      const ScannedChar c = ScanChar(q, table);
      if (is_apart(c) || !c.Is(any_of)) break;
      q += c.length;
    }
    return q;
  };
  const auto is_ascii_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  constexpr uint8_t kLetters = kScanLetter | kScanMark;
  const char* const second = p + first.length;
  if (first.Is(kScanPunctuation) && first.length == 1 && second < end && is_ascii_letter(*second)) {
    const char* q = second;
    while (q < end && is_ascii_letter(*q)) ++q;
    return q;
  }
  if (first.Is(kLetters)) return skip(second, kLetters);
  if (!first.Is(kScanPunctuation) && !IsLineBreak(*p)) {
    if (const char* q = skip(second, kLetters); q > second) return q;
  }
  const char* const other = *p == ' ' ? second : p;
  if (const char* q = skip(other, kScanPunctuation); q > other) {
    while (q < end && !first.Is(kScanCjk) && IsLineBreak(*q)) ++q;
    return q;
  }
  if (first.Is(kScanSpace)) return SkipWhiteSpace(p, end, /*breaks_end=*/true, is_apart, table);
  // What no alternative takes, up to where one does.
  const char* q = second;
  while (q < end) {
    const ScannedChar c = ScanChar(q, table);
    if (is_apart(c) || c.Is(kLetters | kScanPunctuation | kScanSpace)) break;
    const char* const behind = q + c.length;
    if (skip(behind, kLetters) > behind) break;
    q = behind;
  }
  return q;
}

}  // namespace next_pretoken_internal

/// The end of the pretoken that starts at `p` < `end`, by the alternatives of the pattern in order.
/// `table`: ScanClasses::Of<kPattern>().
template <SplitPattern kPattern>
inline const char* NextPretoken(const char* p, const char* end, const uint8_t* table) {
  constexpr SplitTraits::Family kFamily = TraitsOf(kPattern).family;
  if constexpr (kFamily == SplitTraits::Family::kGpt2) {
    return next_pretoken_internal::NextGpt2<kPattern>(p, end, table);
  } else if constexpr (kFamily == SplitTraits::Family::kDeepSeek) {
    return next_pretoken_internal::NextDeepSeek(p, end, table);
  } else {
    return next_pretoken_internal::NextLlama3<kPattern>(p, end, table);
  }
}

}  // namespace easydata::tokenizers
