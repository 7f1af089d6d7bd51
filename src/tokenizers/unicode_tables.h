#pragma once

#include <cstddef>
#include <cstdint>

/// What script/generate_unicode_tables.py probed from the pinned `tokenizers` library.
namespace easydata::tokenizers::unicode_tables {

/// Code points first..last share `value`.
struct CodePointRange {
  uint32_t first;
  uint32_t last;
  uint8_t value;
};

/// Every `step`th code point from first to last has its lowercase `by` code points further.
struct CaseRange {
  uint32_t first;
  uint32_t last;
  uint8_t step;
  int32_t by;
};

/// Full decomposition of one code point: `length` entries of kDecompositionPool.
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

/// What normalizers do to single code points.
inline constexpr uint8_t kBertDropped = 1;  ///< BertNormalizer's clean_text drops it
inline constexpr uint8_t kBertSpaced = 2;   ///< and makes it a space
inline constexpr uint8_t kChinese = 4;      ///< handle_chinese_chars puts spaces around it
inline constexpr uint8_t kAccent = 8;       ///< strip_accents drops it, after NFD
inline constexpr uint8_t kMark = 16;        ///< StripAccents drops it
inline constexpr uint8_t kNmtDropped = 32;  ///< Nmt drops it
inline constexpr uint8_t kNmtSpaced = 64;   ///< Nmt makes it a space
extern const CodePointRange kEditRanges[];
extern const size_t kNumEditRanges;

/// Scripts, numbered from 1; code points in no range are of any script.
extern const CodePointRange kScriptRanges[];
extern const size_t kNumScriptRanges;

/// Grapheme cluster properties of Unicode Standard Annex 29 (Hangul syllables are left to
/// arithmetic, regional indicators out: their clusters are too long to matter), and bits of
/// Indic_Conjunct_Break.
enum GraphemeClass : uint8_t {
  kOther = 0,
  kControl = 1,
  kExtend = 2,
  kZeroWidthJoiner = 3,
  kSpacingMark = 4,
  kPrepend = 5,
  kHangulL = 6,
  kHangulV = 7,
  kHangulT = 8,
  kPictograph = 9,
  kConsonant = 10,
  kClassMask = 15,
  kLinkerBit = 16,
  kConjunctExtendBit = 32,
};
extern const CodePointRange kGraphemeRanges[];
extern const size_t kNumGraphemeRanges;

/// Lowercase of single code points, but for U+0130, whose lowercase is two: U+0069 U+0307.
extern const CaseRange kCaseRanges[];
extern const size_t kNumCaseRanges;

/// Canonical combining classes other than 0.
extern const CodePointRange kCombiningClassRanges[];
extern const size_t kNumCombiningClassRanges;

/// Canonical decompositions, sorted by code point; Hangul syllables are left to arithmetic.
extern const Decomposition kDecompositions[];
extern const size_t kNumDecompositions;

/// Compatibility decompositions where they are not the canonical ones.
extern const Decomposition kCompatibilityDecompositions[];
extern const size_t kNumCompatibilityDecompositions;

extern const char32_t kDecompositionPool[];

/// Sorted by (first, second); Hangul is left to arithmetic.
extern const Composition kCompositions[];
extern const size_t kNumCompositions;

}  // namespace easydata::tokenizers::unicode_tables
