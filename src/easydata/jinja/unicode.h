#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace easydata::jinja {

/// A character of valid UTF-8, and how many bytes spell it.
struct Character {
  char32_t value;
  int length;
};

/// Decodes the character at `p`, which starts one.
Character DecodeCharacter(const char* p);

/// Appends the UTF-8 of a code point.
void AppendCharacter(char32_t c, std::string* out);

/// How many code points `text` has: Python's len().
size_t CountCharacters(std::string_view text);

/// Whether Python's str.isspace() and `\s` take it for white space.
bool IsSpace(char32_t c);

/// `text` without the white space at its start, or its end: Python's lstrip() and rstrip().
std::string_view StripStart(std::string_view text);
std::string_view StripEnd(std::string_view text);

/// Whether all bytes are ASCII.
bool IsAscii(std::string_view text);

}  // namespace easydata::jinja
