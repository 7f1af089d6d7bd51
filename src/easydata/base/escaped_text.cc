#include "easydata/base/escaped_text.h"

#include <cstdint>
#include <cstdio>

namespace easydata {
namespace {

/// A code point and its bytes; 0 bytes where there is none.
struct DecodedCharacter {
  uint32_t code = 0;
  size_t bytes = 0;
};

DecodedCharacter DecodeAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < bytes) return {};
  uint32_t code = first & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[bytes] || code > 0x10FFFF || is_surrogate ? DecodedCharacter{}
                                                                 : DecodedCharacter{code, bytes};
}

/// Whether a character does something other than to be seen.
bool IsControl(uint32_t code) {
  const bool ends_line = code == 0x2028 || code == 0x2029;
  const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || ends_line || turns;
}

void AppendEscape(char kind, int digits, uint32_t value, std::string* out) {
  char escape[16];
  std::snprintf(escape, sizeof(escape), "\\%c%0*x", kind, digits, static_cast<unsigned>(value));
  *out += escape;
}

void AppendControl(uint32_t code, std::string* out) {
  if (code == '\n') {
    *out += "\\n";
  } else if (code == '\r') {
    *out += "\\r";
  } else if (code == '\t') {
    *out += "\\t";
  } else if (code < 0x80) {
    AppendEscape('x', 2, code, out);
  } else {
    AppendEscape('u', 4, code, out);
  }
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter next = DecodeAt(text, at);
    if (next.bytes == 0) return false;
    at += next.bytes;
  }
  return true;
}

std::string EscapedText(std::string_view text, size_t most) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter next = DecodeAt(text, at);
    if (at + (next.bytes == 0 ? 1 : next.bytes) > most) return out + "...";
    if (next.bytes == 0) {
      AppendEscape('x', 2, static_cast<uint8_t>(text[at++]), &out);
      continue;
    }
    if (IsControl(next.code)) {
      AppendControl(next.code, &out);
    } else {
      out += text.substr(at, next.bytes);
    }
    at += next.bytes;
  }
  return out;
}

}  // namespace easydata
