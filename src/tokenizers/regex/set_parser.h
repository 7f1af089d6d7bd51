#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "easydata/base/status.h"
#include "tokenizers/component_json.h"
#include "tokenizers/regex/character_set.h"

namespace easydata::tokenizers {

/// Walks over the characters of a pattern, valid UTF-8.
class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : pattern_(pattern) {}

  bool at_end() const { return position_ == pattern_.size(); }
  size_t position() const { return position_; }
  void set_position(size_t position) { position_ = position; }

  /// The next character, which must be there.
  char32_t Next();
  bool Peek(char c) const { return !at_end() && pattern_[position_] == c; }
  bool PeekAll(std::string_view text) const { return pattern_.substr(position_).starts_with(text); }
  /// Steps over `c` or `text` if it comes next.
  bool Take(char c) { return TakeAll(std::string_view(&c, 1)); }
  bool TakeAll(std::string_view text);

  /// A number of up to seven digits, or nothing.
  std::optional<int> ReadDecimal();
  /// At most `max_digits` hexadecimal digits, or nothing.
  std::optional<char32_t> ReadHexadecimal(int max_digits);

  /// NotImplemented: what the pattern has before here.
  template <typename... Args>
  Status Refuse(const Args&... what) const {
    return Unsupported("regex with ", what..., " at byte ", position_, " of ", pattern_);
  }

 private:
  std::string_view pattern_;
  size_t position_ = 0;
};

/// What a backslash and what follows it mean where a set may stand: a character or a set.
struct SetEscape {
  bool is_set = false;
  CharacterSet set;
  char32_t character = 0;
  /// The character is given by its number.
  bool is_numbered = false;
};

/// Reads an escape after its backslash. `in_brackets`: \w is less there, by six characters of
/// Latin-1.
Result<SetEscape> ParseSetEscape(PatternReader* reader, bool in_brackets);

/// The set that \w and \b mean outside brackets.
CharacterSet BareWordSet();

/// A bracketed set as it is spelled, and whether it stands for all other characters.
struct ParsedSet {
  CharacterSet set;
  bool negated = false;
};

/// Reads a set after its [, up to and with its ].
Result<ParsedSet> ParseSet(PatternReader* reader);

}  // namespace easydata::tokenizers
