#include "tokenizers/normalize/charsmap.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "tokenizers/component_json.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// The parts of a unit.
uint32_t LabelOf(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint64_t OffsetOf(uint32_t unit) { return uint64_t{unit >> 10} << ((unit & 1u << 9) >> 6); }
uint32_t ValueOf(uint32_t unit) { return unit & ~(1u << 31); }

int ValueOfBase64(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool padded = i >= text.size() - padding;
    const int value = padded ? 0 : ValueOfBase64(text[i]);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(bits >> shift));
    bits = 0;
  }
  for (size_t i = 0; i < padding; ++i) {
    if (bytes.back() != 0) return std::nullopt;  // bits that no byte holds
    bytes.pop_back();
  }
  return bytes;
}

Result<Charsmap> Charsmap::Parse(std::string_view bytes) {
  uint32_t size;
  if (bytes.size() < sizeof(size)) return Unsupported("precompiled_charsmap without a trie");
  std::memcpy(&size, bytes.data(), sizeof(size));
  bytes.remove_prefix(sizeof(size));
  const size_t trie_size = size / 4 * 4;
  if (trie_size > bytes.size()) return Unsupported("precompiled_charsmap that is cut short");
  Charsmap map;
  map.units_.resize(trie_size / 4);
  if (trie_size > 0) std::memcpy(map.units_.data(), bytes.data(), trie_size);
  map.texts_ = bytes.substr(trie_size);
  if (!simdjson::validate_utf8(map.texts_)) {
    return Unsupported("precompiled_charsmap with text that is not UTF-8");
  }
  return map;
}

Charsmap::Lookup Charsmap::Find(std::string_view text) const {
  if (units_.empty()) return {Lookup::kCrash, {}};
  uint64_t node = OffsetOf(units_[0]);
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size()) return {Lookup::kCrash, {}};
    const uint32_t unit = units_[node];
    if (LabelOf(unit) != byte) break;
    node ^= OffsetOf(unit);
    if (!HasLeaf(unit)) continue;
    if (node >= units_.size()) return {Lookup::kCrash, {}};
    const size_t begin = ValueOf(units_[node]);
    const size_t end = std::min(texts_.find('\0', begin), texts_.size());
    if (begin > texts_.size() || (begin < end && utf8::IsContinuation(texts_[begin]))) {
      return {Lookup::kCrash, {}};
    }
    return {Lookup::kFound, std::string_view(texts_).substr(begin, end - begin)};
  }
  return {Lookup::kNone, {}};
}

}  // namespace easydata::tokenizers
