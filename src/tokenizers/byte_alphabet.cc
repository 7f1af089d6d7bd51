#include "tokenizers/byte_alphabet.h"

#include <algorithm>

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

ByteAlphabet::ByteAlphabet() {
  std::fill(std::begin(bytes_), std::end(bytes_), static_cast<int16_t>(-1));
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
    characters_[byte] = printable ? static_cast<char32_t>(byte) : next++;
    bytes_[characters_[byte]] = static_cast<int16_t>(byte);
  }
}

const ByteAlphabet& ByteAlphabet::Get() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

bool ByteAlphabet::ToBytes(std::string_view token, std::string* bytes) const {
  const size_t before = bytes->size();
  for (size_t i = 0; i < token.size();) {
    const utf8::CodePoint c = utf8::Decode(token.data() + i);
    const int value = byte(c.value);
    if (value < 0) {
      bytes->resize(before);
      return false;
    }
    bytes->push_back(static_cast<char>(value));
    i += c.length;
  }
  return true;
}

}  // namespace easydata::tokenizers
