#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace easydata::tokenizers {

/// The alphabet of byte-level BPE: 256 printable characters that stand for the 256 bytes, as GPT-2
/// chose them.
class ByteAlphabet {
 public:
  /// The first code point that is no longer in the alphabet.
  static constexpr char32_t kLimit = 0x144;

  static const ByteAlphabet& Get();

  /// The character that stands for a byte.
  char32_t character(uint8_t byte) const { return characters_[byte]; }

  /// The byte a character stands for, or -1.
  int byte(char32_t character) const { return character < kLimit ? bytes_[character] : -1; }

  /// Appends the bytes that valid UTF-8 `token` stands for. Returns false, and appends nothing,
  /// when a character is outside the alphabet.
  bool ToBytes(std::string_view token, std::string* bytes) const;

 private:
  ByteAlphabet();

  char32_t characters_[256];
  int16_t bytes_[kLimit];
};

}  // namespace easydata::tokenizers
