#include "tokenizers/normalize/byte_level.h"

#include <algorithm>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

bool ByteLevelNormalizer::IsInert(std::string_view text) const {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

Status ByteLevelNormalizer::Normalize(std::string_view text, std::string* out) const {
  const ByteAlphabet& alphabet = ByteAlphabet::Get();
  out->resize(2 * text.size());  // the alphabet is below U+0800
  char* to = out->data();
  for (char c : text) to = utf8::Write(alphabet.character(static_cast<uint8_t>(c)), to);
  out->resize(static_cast<size_t>(to - out->data()));
  return Status::OK();
}

}  // namespace easydata::tokenizers
