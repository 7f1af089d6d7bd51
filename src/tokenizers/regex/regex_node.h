#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tokenizers/regex/character_set.h"

namespace easydata::tokenizers {

/// Part of a regular expression, with everything that depends on syntax, options or Unicode
/// resolved.
struct RegexNode {
  enum class Kind : uint8_t {
    kEmpty,
    /// One character of `set`.
    kSet,
    kSequence,
    /// The first of `children` that lets the rest match.
    kAlternatives,
    /// The child min to max times, as often as possible or, if `lazy`, as rarely.
    kRepeat,
    /// The child's first match, which is never taken back.
    kAtomic,
    /// The child must (or, if `negative`, must not) match from here on; nothing is consumed.
    kLookAhead,
    /// The same for what ends here.
    kLookBehind,
    /// At the beginning of the text or after a line break, but not at the end of the text.
    kLineStart,
    /// At the end of the text or before a line break.
    kLineEnd,
    kTextStart,
    kTextEnd,
    /// At the end of the text or before a line break that ends it.
    kTextEndOrLastBreak,
    /// Between a character of `set` and one outside it, or the text's ends.
    kBoundary,
    kNoBoundary,
  };

  static constexpr int kUnbounded = -1;

  Kind kind = Kind::kEmpty;
  std::vector<RegexNode> children;
  CharacterSet set;
  int min = 0;
  int max = 0;
  bool lazy = false;
  bool negative = false;
  /// A kSet that comes from one character under (?i).
  bool is_caseless_literal = false;
  char32_t literal = 0;
  /// The characters in a row that the node stands for, if several of them may match as one.
  std::u32string folded_run;

  static RegexNode Set(CharacterSet set);
  bool operator==(const RegexNode&) const = default;
};

/// The fewest and the most characters that a node matches; kUnbounded for no limit.
struct RegexWidth {
  int min;
  int max;
};

RegexWidth WidthOf(const RegexNode& node);

}  // namespace easydata::tokenizers
