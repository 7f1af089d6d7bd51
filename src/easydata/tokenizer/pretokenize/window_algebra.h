#pragma once

#include <cstdint>

#include "easydata/tokenizer/pretokenize/split_scanner.h"

namespace easydata {

/// Up to 64 characters of a text as bit masks, one bit per character, from a character that starts
/// a pretoken on.
struct CharMasks {
  uint64_t letter;
  uint64_t number;
  uint64_t space;    // \s
  uint64_t newline;  // \r and \n, also in `space`
  uint64_t blank;    // U+0020, also in `space`
  uint64_t valid;    // the low bits: characters that the window holds
  bool at_end;       // the text ends behind them
};

/// Bits where pretokens start, as far as the window can tell; bit 0 is always set. Contractions are
/// not looked at: they are for the caller to patch in.
///
/// With an empty bit for an unknown previous character, every pretoken start but contractions'
/// follows from a character's class, its two predecessors and its successor; only how white space
/// around line breaks falls apart depends on the whole run, so a run that the window's end cuts is
/// left to the next window.
template <SplitPattern kPattern>
inline __attribute__((always_inline)) uint64_t PretokenStarts(const CharMasks& m) {
  const uint64_t other = m.valid & ~(m.letter | m.number | m.space);
  // The last space of a run that something follows starts a pretoken: alone or as the prefix of
  // what follows.
  const uint64_t before_text = (~m.space & m.valid) >> 1;
  const uint64_t other_start = other & ~(other << 1) & ~(m.blank << 1);
  uint64_t starts;
  if constexpr (kPattern == SplitPattern::kGpt2) {
    starts =
        (m.letter & ~(m.letter << 1)) | (m.number & ~(m.number << 1)) | (other & ~(other << 1));
    starts &= ~(m.blank << 1);
    starts |= m.space & (~(m.space << 1) | before_text);
  } else {
    // A letter run takes along one character before it that is no letter, digit or line break, if
    // that is the first of its pretoken.
    const uint64_t inner_space = m.space & ~m.newline;
    starts = m.letter & ~(m.letter << 1) & ~(inner_space << 1) & ~(other_start << 1);
    starts |= other_start;
    if constexpr (kPattern == SplitPattern::kQwen2) {
      starts |= m.number;
    } else {
      uint64_t digits = m.number & ~(m.number << 1);
      const uint64_t fourth = m.number & (m.number << 1) & (m.number << 2) & (m.number << 3);
      while (digits != 0) {
        starts |= digits;
        digits = (digits << 3) & fourth;
      }
    }
    // Line breaks right behind other characters belong to them.
    const uint64_t absorbed = m.newline & ~(m.newline + (m.newline & (other << 1)));
    const uint64_t space = m.space & ~absorbed;
    starts |= (space & ~(space << 1)) | (inner_space & before_text);
    // White space behind the last line break of its run is cut off from it.
    uint64_t indents = inner_space & (m.newline << 1);
    if (((inner_space + indents) & m.newline & (inner_space << 1)) != 0) {
      for (uint64_t rest = indents; rest != 0; rest &= rest - 1) {
        const uint64_t first = rest & -rest;
        const uint64_t behind = (inner_space + first) & ~inner_space & -first;
        if ((behind & -behind & m.newline) != 0) indents &= ~first;
      }
    }
    starts |= indents;
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
  return (starts & certain) | 1;
}

}  // namespace easydata
