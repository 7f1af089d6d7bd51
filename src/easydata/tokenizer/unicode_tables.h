#pragma once

#include <cstddef>
#include <cstdint>

/// What script/generate_unicode_tables.py probed from the pinned `tokenizers` library.
namespace easydata::unicode_tables {

/// Code points first..last share `value`.
struct CodePointRange {
  uint32_t first;
  uint32_t last;
  uint8_t value;
};

/// Full canonical decomposition of one code point: `length` entries of kDecompositionPool.
struct Decomposition {
  uint32_t code_point;
  uint16_t offset;
  uint8_t length;
};

/// The pair first, second composes to `composed`.
struct Composition {
  uint32_t first;
  uint32_t second;
  uint32_t composed;
};

/// Properties as UnicodeProperties describes them; code points in no range have none.
extern const CodePointRange kPropertyRanges[];
extern const size_t kNumPropertyRanges;

/// Canonical combining classes other than 0.
extern const CodePointRange kCombiningClassRanges[];
extern const size_t kNumCombiningClassRanges;

/// Sorted by code point; Hangul syllables are left to arithmetic.
extern const Decomposition kDecompositions[];
extern const size_t kNumDecompositions;
extern const char32_t kDecompositionPool[];

/// Sorted by (first, second); Hangul is left to arithmetic.
extern const Composition kCompositions[];
extern const size_t kNumCompositions;

}  // namespace easydata::unicode_tables
