#include "tokenizers/decode/lossy_utf8.h"

#include <cstdint>

namespace easydata::tokenizers {
namespace {

struct Sequence {
  size_t length;  // of the character, or of the ill-formed part
  bool valid;
};

Sequence NextSequence(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {1, true};
  size_t length;
  uint8_t low = 0x80, high = 0xBF;  // of the second byte
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false};
  }
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size() || at(i) < low || at(i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

}  // namespace

std::string LossyUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Sequence sequence = NextSequence(bytes);
    out.append(sequence.valid ? bytes.substr(0, sequence.length) : "\xEF\xBF\xBD");
    bytes.remove_prefix(sequence.length);
  }
  return out;
}

size_t FirstInvalidUtf8(std::string_view bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    const Sequence sequence = NextSequence(bytes.substr(i));
    if (!sequence.valid) break;
    i += sequence.length;
  }
  return i;
}

}  // namespace easydata::tokenizers
