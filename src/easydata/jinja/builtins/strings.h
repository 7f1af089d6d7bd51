#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "easydata/jinja/builtins/arguments.h"
#include "easydata/jinja/value.h"

namespace easydata::jinja {
class Machine;
}  // namespace easydata::jinja

namespace easydata::jinja::builtins {

/// The case of ASCII; fails as unsupported for letters beyond it.
std::string Uppercase(std::string_view text);
std::string Lowercase(std::string_view text);
std::string Capitalized(std::string_view text);
/// The filter `title`: each run between white space, dashes and opening brackets.
std::string FilterTitle(std::string_view text);

inline char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
inline char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
inline bool IsLetter(char c) { return Upper(c) >= 'A' && Upper(c) <= 'Z'; }

/// str.strip(chars), lstrip, rstrip.
std::string_view Stripped(std::string_view text, const Value* chars, bool start, bool end);

/// str.replace(): the first `count` occurrences, all where it is negative. Fails where the text
/// comes to more than `limit` bytes.
std::string Replaced(std::string_view text, std::string_view old, std::string_view by,
                     int64_t count, size_t limit);

Value CallStringMethod(Machine* machine, int method, const Value& of, const Arguments& arguments);

}  // namespace easydata::jinja::builtins
