#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace easydata::tokenizers {

inline constexpr size_t kMaxWordKeyBytes = 15;
inline constexpr size_t kMaxNarrowBytes = 7;

/// A pretoken of 1 to 15 bytes in two words of memory.
///
/// Most are ASCII and of up to 7 bytes: these are narrow. One word says it all, the bytes, zeros
/// after them, the length in the last byte; the other is the same. Of all others the bytes fill
/// both, zeros after them, the length in the last byte.
struct WordKey {
  uint64_t low;
  uint64_t high;

  bool operator==(const WordKey&) const = default;

  bool is_narrow() const {
    uint8_t bytes[8];
    std::memcpy(bytes, &low, 8);
    return low == high && bytes[7] <= kMaxNarrowBytes;
  }
};

/// The bits that are set in bytes beyond ASCII.
inline constexpr uint64_t kBeyondAscii = 0x8080808080808080u;

/// Whether a word of `size` bytes, of which `low` holds the first, is narrow; without a branch.
inline bool IsNarrowWord(uint64_t low, size_t size) {
  return (size <= kMaxNarrowBytes) & ((low & kBeyondAscii) == 0);
}

/// The key of a word whose bytes, zeros after them and its length in the last, are in two words;
/// without a branch.
inline WordKey MakeWordKey(uint64_t low, uint64_t high, bool is_narrow) {
  const uint64_t all = low | high;  // of a narrow word: its length is alone in its half
  return {is_narrow ? all : low, is_narrow ? all : high};
}

/// The key of a word of 1 to kMaxWordKeyBytes bytes.
inline WordKey MakeWordKey(std::string_view word) {
  uint8_t bytes[16] = {};
  std::memcpy(bytes, word.data(), word.size());
  bytes[15] = static_cast<uint8_t>(word.size());
  uint64_t halves[2];
  std::memcpy(halves, bytes, 16);
  return MakeWordKey(halves[0], halves[1], IsNarrowWord(halves[0], word.size()));
}

/// A hash of a key for processors without an instruction for one.
inline uint64_t HashWordKey(const WordKey& key) {
  uint64_t hash =
      key.low * 0x9E3779B97F4A7C15u ^ (key.high + 0x632BE59BD9B4E019u) * 0xD6E8FEB86659FD93u;
  hash ^= hash >> 32;
  return hash * 0x9E3779B97F4A7C15u >> 20;
}

}  // namespace easydata::tokenizers
