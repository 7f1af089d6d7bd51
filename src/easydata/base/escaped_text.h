#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace easydata {

/// Whether a text is UTF-8: no surrogates, nothing beyond U+10FFFF, no forms that are too long.
bool IsUtf8(std::string_view text);

/// A stranger's text as messages show it, on one line: bytes that are no UTF-8, control characters
/// (with them a terminal is told what to do) and those that end a line or turn the direction of
/// what follows stand there as "\xff", "\n", "\u202e". Of a text of more than `most` bytes the
/// first of them are shown, and "...".
std::string EscapedText(std::string_view text, size_t most = std::string_view::npos);

}  // namespace easydata
