#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace easydata::record_file {

/// Takes a varint of protocol buffers from the begin of `bytes`; false where there is none.
inline bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  uint64_t out = 0;
  for (size_t i = 0; i < bytes->size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>((*bytes)[i]);
    if (i == 9 && byte > 1) return false;  // more than 64 bits
    out |= static_cast<uint64_t>(byte & 0x7f) << 7 * i;
    if (byte < 0x80) {
      bytes->remove_prefix(i + 1);
      *value = out;
      return true;
    }
  }
  return false;
}

inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

}  // namespace easydata::record_file
