#pragma once

#include <cstdint>

#include "tokenizers/code_point_table.h"
#include "tokenizers/unicode_tables.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

/// Extended grapheme clusters (Unicode Standard Annex 29) as the reference's segmentation crate
/// finds them, but that flags, whose clusters Precompiled never takes as a whole, fall apart.
class Graphemes {
 public:
  using Class = unicode_tables::GraphemeClass;

  /// Built at the first call.
  static const Graphemes& Get();

  /// The class of a code point, with the bits of its part in conjuncts.
  uint8_t operator[](char32_t c) const { return table_[c]; }

  /// Whether a character of this class never starts a cluster.
  static bool Extends(uint8_t grapheme) {
    const int kind = grapheme & Class::kClassMask;
    return kind == Class::kExtend || kind == Class::kZeroWidthJoiner || kind == Class::kSpacingMark;
  }

  /// The end of the cluster that starts at `p` < `end`.
  const char* ClusterEnd(const char* p, const char* end) const;

 private:
  Graphemes();

  CodePointTable<uint8_t> table_;  // Hangul syllables: kSyllable or kOpenSyllable
};

}  // namespace easydata::tokenizers
