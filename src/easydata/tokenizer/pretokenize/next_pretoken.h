#pragma once

#include <cstdint>

#include "easydata/tokenizer/pretokenize/split_scanner.h"
#include "easydata/tokenizer/unicode_properties.h"
#include "easydata/tokenizer/utf8.h"

namespace easydata {

/// One character's class and length.
struct ScannedChar {
  CharClass char_class;
  int length;
};

inline ScannedChar ScanChar(const char* p, const uint8_t* properties) {
  const utf8::CodePoint c = utf8::Decode(p);
  return {static_cast<CharClass>(properties[c.value] & UnicodeProperties::kClassMask), c.length};
}

/// The end of the run of `char_class` that starts at `p`.
inline const char* SkipClass(const char* p, const char* end, CharClass char_class,
                             const uint8_t* properties) {
  while (p < end) {
    const ScannedChar c = ScanChar(p, properties);
    if (c.char_class != char_class) break;
    p += c.length;
  }
  return p;
}

/// Length of the contraction at `p`, which points at an apostrophe, or 0. GPT-2's pattern wants
/// lower case; the others fold case as Unicode does: U+017F, the long s, is an s.
template <SplitPattern kPattern>
inline int ContractionLength(const char* p, const char* end) {
  if (end - p < 2) return 0;
  const char fold = kPattern == SplitPattern::kGpt2 ? 0 : 0x20;
  const char a = static_cast<char>(p[1] | fold);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (end - p < 3) return 0;
  if (kPattern != SplitPattern::kGpt2 && p[1] == '\xC5' && p[2] == '\xBF') return 3;
  const char b = static_cast<char>(p[2] | fold);
  if ((a == 'r' || a == 'v') && b == 'e') return 3;
  return a == 'l' && b == 'l' ? 3 : 0;
}

/// The end of the pretoken that starts at `p` < `end`, by a literal reading of the pattern.
template <SplitPattern kPattern>
inline const char* NextPretoken(const char* p, const char* end, const uint8_t* properties) {
  constexpr bool kIsGpt2 = kPattern == SplitPattern::kGpt2;
  if (*p == '\'') {
    if (const int length = ContractionLength<kPattern>(p, end); length > 0) return p + length;
  }
  const auto skip_newlines = [end](const char* q) {
    while (q < end && (*q == '\r' || *q == '\n')) ++q;
    return q;
  };
  const ScannedChar first = ScanChar(p, properties);
  const char* const second = p + first.length;
  const CharClass second_class =
      second < end ? ScanChar(second, properties).char_class : CharClass::kSpace;
  if constexpr (kIsGpt2) {
    if (first.char_class != CharClass::kSpace) {
      return SkipClass(second, end, first.char_class, properties);
    }
    if (*p == ' ' && second_class != CharClass::kSpace) {
      return SkipClass(second, end, second_class, properties);
    }
  } else {
    if (first.char_class == CharClass::kLetter) {
      return SkipClass(second, end, CharClass::kLetter, properties);
    }
    if (first.char_class == CharClass::kNumber) {
      const char* q = second;
      for (int digits = 1; kPattern == SplitPattern::kLlama3 && digits < 3 && q < end; ++digits) {
        const ScannedChar c = ScanChar(q, properties);
        if (c.char_class != CharClass::kNumber) break;
        q += c.length;
      }
      return q;
    }
    if (second_class == CharClass::kLetter && *p != '\r' && *p != '\n') {
      return SkipClass(second, end, CharClass::kLetter, properties);
    }
    if (first.char_class == CharClass::kOther) {
      return skip_newlines(SkipClass(second, end, CharClass::kOther, properties));
    }
    if (*p == ' ' && second < end && second_class == CharClass::kOther) {
      return skip_newlines(SkipClass(second, end, CharClass::kOther, properties));
    }
  }
  // White space: up to its last line break; or all of it at the end of the text; or all but its
  // last character.
  const char* last = p;
  const char* after_newline = nullptr;
  const char* q = p;
  while (q < end) {
    const ScannedChar c = ScanChar(q, properties);
    if (c.char_class != CharClass::kSpace) break;
    last = q;
    q += c.length;
    if (!kIsGpt2 && (*last == '\r' || *last == '\n')) after_newline = q;
  }
  if (after_newline != nullptr) return after_newline;
  return q == end || last == p ? q : last;
}

}  // namespace easydata
