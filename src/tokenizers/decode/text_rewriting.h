#pragma once

#include <string>
#include <string_view>

namespace easydata::tokenizers {

/// Replaces every `pattern` in `text`, from left to right; an empty pattern is found before every
/// character of valid UTF-8 and at the end.
std::string ReplaceAll(std::string_view text, std::string_view pattern,
                       std::string_view replacement);

/// Removes the spaces that tokenizing put before English punctuation and contractions, as the
/// reference's WordPiece and CTC decoders do: eleven replacements, one after the other.
std::string CleanUpEnglish(std::string_view text);

}  // namespace easydata::tokenizers
