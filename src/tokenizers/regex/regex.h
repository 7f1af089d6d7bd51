#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::tokenizers {

/// A regular expression that matches exactly what Oniguruma 6.9.10, with Ruby syntax and Unicode
/// 16, matches: the engine of the reference tokenizer. Immutable, thread-safe.
///
/// The pattern's sets of characters split into kinds of characters that no set tells apart. Text is
/// turned into one byte per character, its kind, and PCRE2 runs over those bytes: its own Unicode
/// data plays no part.
class Regex {
 public:
  struct Match {
    size_t begin;
    size_t end;

    bool operator==(const Match&) const = default;
  };

  /// NotImplemented for a pattern that cannot be translated exactly, and for one that the reference
  /// refuses.
  static Result<std::unique_ptr<const Regex>> Compile(std::string_view pattern);

  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  /// Whether it might match the empty string somewhere; false means that it never does.
  bool may_match_nothing() const;

  /// Replaces *matches by the matches in valid UTF-8 `text`, in byte offsets, stepping as the
  /// reference does: from the end of a match on; an empty match where the last one ended is passed
  /// over. Invalid when matching takes too many steps, which the reference fails at earlier.
  Status FindAll(std::string_view text, std::vector<Match>* matches) const;

 private:
  struct Program;

  explicit Regex(std::unique_ptr<const Program> program);

  std::unique_ptr<const Program> program_;
};

/// The pattern that matches `literal` and nothing else.
std::string EscapeForRegex(std::string_view literal);

}  // namespace easydata::tokenizers
