#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace easydata::tokenizers {

/// A set of code points: ranges in order that neither overlap nor touch.
class CharacterSet {
 public:
  struct Range {
    char32_t first;
    char32_t last;

    bool operator==(const Range&) const = default;
  };

  static constexpr char32_t kMax = 0x10FFFF;

  CharacterSet() = default;
  explicit CharacterSet(char32_t c) : ranges_{{c, c}} {}
  CharacterSet(char32_t first, char32_t last) : ranges_{{first, last}} {}
  /// Ranges in any order, overlapping or not.
  explicit CharacterSet(std::vector<Range> ranges);

  const std::vector<Range>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  bool Contains(char32_t c) const;

  CharacterSet Union(const CharacterSet& other) const;
  CharacterSet Intersection(const CharacterSet& other) const;
  CharacterSet Complement() const;

  bool operator==(const CharacterSet&) const = default;

  /// The set that the reference's regex engine calls `name` in \p{...}: case, spaces, '-' and '_'
  /// do not matter. Nothing for a name that is not known here.
  static std::optional<CharacterSet> Named(std::string_view name);

  /// All characters that match one of this set's under (?i), leaving out those that match several
  /// (see MultiFoldOf).
  CharacterSet CaseFolded() const;

 private:
  std::vector<Range> ranges_;
};

/// The character that stands for all those that (?i) takes for `c`.
char32_t FoldKey(char32_t c);

/// The characters that (?i) takes for two or three others, as \u00DF for "ss".
const CharacterSet& MultiFoldCharacters();

/// Under (?i) at most so many characters in a row match as one.
inline constexpr size_t kMaxFold = 3;

/// The characters that (?i) takes for the whole of `text`, as \u00DF for "ss".
CharacterSet CharactersFoldingTo(std::u32string_view text);

}  // namespace easydata::tokenizers
