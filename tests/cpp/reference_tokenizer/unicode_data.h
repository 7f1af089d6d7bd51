#pragma once

#include <cstdint>
#include <span>

/// What make_unicode_data.py found out about characters. The engine has tables of its own, made by
/// other scripts in other ways, so that a wrong entry on either side makes tests fail.
namespace easydata::tokenizers::reference::unicode_data {

/// Code points first..last.
struct Range {
  char32_t first;
  char32_t last;
};

/// Code points first..last have `value`.
struct ValueRange {
  char32_t first;
  char32_t last;
  int value;
};

/// Code points first..last are in the class `name` of the library's regex engine.
struct ClassRange {
  const char* name;
  char32_t first;
  char32_t last;
};

/// What a character becomes: the code points of `to`, which ends with a zero.
struct Mapping {
  char32_t from;
  const char32_t* to;
};

/// The pair first, second composes to `composed`.
struct Composition {
  char32_t first;
  char32_t second;
  char32_t composed;
};

/// General categories (two letters), scripts, properties, and "w" for [\w].
extern const std::span<const ClassRange> kClasses;

extern const std::span<const Range> kWhiteSpace;
extern const std::span<const Range> kNumeric;
extern const std::span<const Range> kWord;
extern const std::span<const Range> kPunctuation;
extern const std::span<const Range> kNonspacingMarks;
extern const std::span<const Range> kOther;
extern const std::span<const Range> kCombiningMarks;

extern const std::span<const Mapping> kLowercase;

/// All the way; without Hangul syllables.
extern const std::span<const Mapping> kCanonicalDecompositions;
extern const std::span<const Mapping> kCompatibilityDecompositions;
extern const std::span<const ValueRange> kCombiningClasses;
extern const std::span<const Composition> kCompositions;

/// Scripts as UnicodeScripts tells them apart, numbered from 1.
extern const std::span<const ValueRange> kScripts;

/// Grapheme_Cluster_Break and Extended_Pictographic; without Hangul syllables and flags.
enum GraphemeBreak {
  kOtherBreak,
  kControl,
  kExtend,
  kZeroWidthJoiner,
  kSpacingMark,
  kPrepend,
  kLeadingJamo,
  kVowelJamo,
  kTrailingJamo,
  kPictographic,
};
extern const std::span<const ValueRange> kGraphemeBreaks;

/// Indic_Conjunct_Break.
enum ConjunctBreak { kNoConjunct, kConsonant, kLinker, kConjunctExtend };
extern const std::span<const ValueRange> kConjunctBreaks;

}  // namespace easydata::tokenizers::reference::unicode_data
