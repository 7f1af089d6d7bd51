#pragma once

#include <cstdint>

#include "tokenizers/pretokenize/split_scanner.h"

namespace easydata::tokenizers {

/// Up to 64 characters of a text as bit masks, one bit per character, from a character that starts
/// a pretoken on. Masks that a pattern does not ask for may hold anything.
struct CharMasks {
  uint64_t letter;  // marks are among them if the pattern wants it
  uint64_t number;
  uint64_t space;        // \s
  uint64_t newline;      // \r and \n, also in `space`
  uint64_t blank;        // U+0020, also in `space`
  uint64_t mark;         // of kO200k and the like
  uint64_t upper;        // the same
  uint64_t lower;        // the same
  uint64_t slash;        // the same
  uint64_t punctuation;  // of kDeepSeekV3
  uint64_t cjk;          // the same
  uint64_t ascii;        // the same
  uint64_t valid;        // the low bits: characters that the window holds
  bool at_end;           // the text ends after them
};

namespace window_algebra_internal {

#define EASYDATA_ALGEBRA inline __attribute__((always_inline))

// The bits of runs in `runs` from a seed on, which is the first of `seeds` in its run.
EASYDATA_ALGEBRA uint64_t Flood(uint64_t runs, uint64_t seeds) {
  return ((((runs + seeds) ^ runs) | seeds)) & runs;
}

// Every `kMaxDigits`th number of a run.
template <int kMaxDigits>
EASYDATA_ALGEBRA uint64_t NumberStarts(uint64_t number) {
  if constexpr (kMaxDigits == 1) {
    return number;
  } else {
    uint64_t starts = number & ~(number << 1);
    if constexpr (kMaxDigits != 0) {
      static_assert(kMaxDigits == 3);
      const uint64_t fourth = number & (number << 1) & (number << 2) & (number << 3);
      for (uint64_t groups = (starts << 3) & fourth; groups != 0; groups = (groups << 3) & fourth) {
        starts |= groups;
      }
    }
    return starts;
  }
}

// White space after the last line break of its run, which is cut off from it. `inner_space` is
// white space but line breaks.
EASYDATA_ALGEBRA uint64_t Indents(uint64_t inner_space, uint64_t newline) {
  uint64_t indents = inner_space & (newline << 1);
  if (((inner_space + indents) & newline & (inner_space << 1)) != 0) {
    for (uint64_t rest = indents; rest != 0; rest &= rest - 1) {
      const uint64_t first = rest & -rest;
      const uint64_t behind = (inner_space + first) & ~inner_space & -first;
      if ((behind & -behind & newline) != 0) indents &= ~first;
    }
  }
  return indents;
}

template <SplitPattern kPattern>
EASYDATA_ALGEBRA uint64_t Gpt2Starts(const CharMasks& m) {
  constexpr SplitTraits kTraits = TraitsOf(kPattern);
  const uint64_t other = m.valid & ~(m.letter | m.number | m.space);
  uint64_t starts = (m.letter & ~(m.letter << 1)) | (other & ~(other << 1));
  // The last space of a run that something follows starts a pretoken: alone or as the prefix of
  // what follows.
  uint64_t before_text = (~m.space & m.valid) >> 1;
  if constexpr (kTraits.digits_apart) {
    before_text &= ~(m.number >> 1);
  } else {
    starts |= NumberStarts<kTraits.max_digits>(m.number);
  }
  starts &= ~(m.blank << 1);
  if constexpr (kTraits.digits_apart) starts |= m.number;
  return starts | (m.space & (~(m.space << 1) | before_text));
}

// Of kLlama3 and, but for the letters' case, kO200k. `*other_start`: other characters that start a
// pretoken.
template <SplitPattern kPattern>
EASYDATA_ALGEBRA uint64_t Llama3Starts(const CharMasks& m) {
  constexpr SplitTraits kTraits = TraitsOf(kPattern);
  constexpr bool kCased = kTraits.family == SplitTraits::Family::kO200k;
  uint64_t other = m.valid & ~(m.letter | m.number | m.space);
  // Line breaks right after other characters belong to them, and so may slashes after those.
  const uint64_t first_breaks = m.newline & (other << 1);
  uint64_t absorbed;
  if constexpr (kCased) {
    absorbed = Flood(m.newline | m.slash, first_breaks);
    other &= ~absorbed;
  } else {
    absorbed = m.newline & ~(m.newline + first_breaks);
  }
  const uint64_t other_start = other & ~(other << 1) & ~(m.blank << 1);
  // A letter run takes along one character before it that is no letter, digit or line break, if
  // that is the first of its pretoken.
  const uint64_t inner_space = m.space & ~m.newline;
  uint64_t starts = m.letter & ~(m.letter << 1) & ~(inner_space << 1) & ~(other_start << 1);
  if constexpr (kCased) starts |= m.upper & (m.lower << 1);
  starts |= other_start | NumberStarts<kTraits.max_digits>(m.number);
  const uint64_t space = m.space & ~absorbed;
  const uint64_t before_text = (~m.space & m.valid) >> 1;
  starts |= (space & ~(space << 1)) | (inner_space & before_text);
  return starts | Indents(inner_space, m.newline);
}

// Where kO200k's starts follow from more than the masks tell: upper case after letters without
// case, and marks after other characters.
EASYDATA_ALGEBRA uint64_t CasedDoubts(const CharMasks& m) {
  const uint64_t neutral = m.letter & ~(m.upper | m.lower);
  const uint64_t other = m.valid & ~(m.letter | m.number | m.space);
  return (m.upper & (neutral << 1)) | (m.mark & (other << 1));
}

EASYDATA_ALGEBRA uint64_t DeepSeekStarts(const CharMasks& m) {
  // Numbers, and runs of Chinese and Japanese, are texts of their own.
  const uint64_t apart = m.number | (m.number << 1) | (m.cjk ^ (m.cjk << 1));
  const uint64_t gap = m.valid & ~(m.letter | m.number | m.space | m.punctuation);
  const uint64_t inner_space = m.space & ~m.newline;
  const uint64_t punctuation_start = m.punctuation & (apart | ~((m.punctuation | m.blank) << 1));
  // ASCII punctuation takes the ASCII letters after it along, and no others.
  const uint64_t ascii_letter = m.letter & m.ascii;
  const uint64_t prefix = punctuation_start & m.ascii & (ascii_letter >> 1);
  const uint64_t ascii_words_end = (ascii_letter + (ascii_letter & (prefix << 1))) & ~ascii_letter;
  uint64_t starts = m.letter & (apart | ~((m.letter | inner_space | gap) << 1));
  starts &= ~(ascii_letter & (prefix << 1));
  starts |= m.letter & ascii_words_end;
  starts |= punctuation_start | NumberStarts<3>(m.number);
  // The last of what no alternative takes goes with the letters after it.
  const uint64_t before_letter = (m.letter & ~apart) >> 1;
  starts |= gap & (apart | ~(gap << 1) | before_letter);
  const uint64_t absorbed = m.newline & ~(m.newline + (m.newline & (m.punctuation << 1) & ~apart));
  const uint64_t space = m.space & ~absorbed;
  const uint64_t before_text = (~m.space & m.valid & ~apart) >> 1;
  starts |= (space & ~(space << 1)) | (inner_space & before_text);
  return starts | Indents(inner_space, m.newline);
}

}  // namespace window_algebra_internal

/// Bits where pretokens start, as far as the window can tell; bit 0 is always set. When there is
/// doubt before the end of the text, m->at_end becomes false. Contractions are not looked at: they
/// are for the caller to patch in.
///
/// With an empty bit for an unknown previous character, every pretoken start but contractions'
/// follows from a character's class, its two predecessors and its successor; only how white space
/// around line breaks falls apart depends on the whole run, so a run that the window's end cuts is
/// left to the next window.
template <SplitPattern kPattern>
EASYDATA_ALGEBRA uint64_t PretokenStarts(CharMasks* masks) {
  namespace internal = window_algebra_internal;
  constexpr SplitTraits::Family kFamily = TraitsOf(kPattern).family;
  const CharMasks& m = *masks;
  uint64_t starts;
  if constexpr (kFamily == SplitTraits::Family::kGpt2) {
    starts = internal::Gpt2Starts<kPattern>(m);
  } else if constexpr (kFamily == SplitTraits::Family::kDeepSeek) {
    starts = internal::DeepSeekStarts(m);
  } else {
    starts = internal::Llama3Starts<kPattern>(m);
  }
  // What the next character decides is not known of the last one, nor where a cut run of spaces
  // falls apart.
  uint64_t certain = m.valid;
  if (!m.at_end) {
    certain >>= 1;
    const uint64_t last = m.valid ^ certain;
    if ((m.space & last) != 0) {
      const uint64_t not_space = m.valid & ~m.space;
      // Up to the first of the spaces that reach the end.
      const int length = not_space == 0 ? 0 : 64 - __builtin_clzll(not_space);
      certain &= (uint64_t{2} << length) - 1;
    }
  }
  if constexpr (kFamily == SplitTraits::Family::kO200k) {
    if (const uint64_t doubts = internal::CasedDoubts(m); doubts != 0) {
      certain &= (doubts & -doubts) - 1;
      masks->at_end = false;
    }
  }
  return (starts & certain) | 1;
}

#undef EASYDATA_ALGEBRA

}  // namespace easydata::tokenizers
