#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace easydata::tokenizers::utf8 {

/// A code point and the number of bytes that spell it.
struct CodePoint {
  char32_t value;
  int length;
};

/// Decodes the code point at `p`, which starts a character of valid UTF-8.
inline CodePoint Decode(const char* p) {
  const auto* b = reinterpret_cast<const uint8_t*>(p);
  if (b[0] < 0x80) return {b[0], 1};
  if (b[0] < 0xE0) return {static_cast<char32_t>((b[0] & 0x1F) << 6 | (b[1] & 0x3F)), 2};
  if (b[0] < 0xF0) {
    return {static_cast<char32_t>((b[0] & 0x0F) << 12 | (b[1] & 0x3F) << 6 | (b[2] & 0x3F)), 3};
  }
  return {static_cast<char32_t>((b[0] & 0x07) << 18 | (b[1] & 0x3F) << 12 | (b[2] & 0x3F) << 6 |
                                (b[3] & 0x3F)),
          4};
}

/// Whether a byte continues a character.
inline bool IsContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

/// How many characters valid UTF-8 has.
inline size_t CountCharacters(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += IsContinuation(c) ? 0 : 1;
  return count;
}

/// The start of the character before `p`, in valid UTF-8 that starts before `p`.
inline const char* Previous(const char* p) {
  do {
    --p;
  } while (IsContinuation(*p));
  return p;
}

/// Writes the UTF-8 of a code point, up to 4 bytes, to `to`; returns the end of what it wrote.
inline char* Write(char32_t c, char* to) {
  if (c < 0x80) {
    *to++ = static_cast<char>(c);
  } else if (c < 0x800) {
    *to++ = static_cast<char>(0xC0 | c >> 6);
    *to++ = static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    *to++ = static_cast<char>(0xE0 | c >> 12);
    *to++ = static_cast<char>(0x80 | (c >> 6 & 0x3F));
    *to++ = static_cast<char>(0x80 | (c & 0x3F));
  } else {
    *to++ = static_cast<char>(0xF0 | c >> 18);
    *to++ = static_cast<char>(0x80 | (c >> 12 & 0x3F));
    *to++ = static_cast<char>(0x80 | (c >> 6 & 0x3F));
    *to++ = static_cast<char>(0x80 | (c & 0x3F));
  }
  return to;
}

/// How many bytes spell a code point.
inline size_t Size(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

/// Appends the UTF-8 of a code point.
inline void Append(char32_t c, std::string* out) {
  char bytes[4];
  out->append(bytes, Write(c, bytes));
}

/// The first byte from `p` on that is not ASCII, or `end`.
inline const char* SkipAscii(const char* p, const char* end) {
  for (; end - p >= 32; p += 32) {
    uint64_t words[4];
    std::memcpy(words, p, 32);
    if (((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u) != 0) break;
  }
  while (p < end && static_cast<uint8_t>(*p) < 0x80) ++p;
  return p;
}

}  // namespace easydata::tokenizers::utf8
