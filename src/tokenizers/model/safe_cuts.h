#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizers/model/bpe_model.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

/// Proves where a pretoken of byte-level BPE may be cut so that its parts merge as the whole would.
///
/// Whatever first spans a boundary is a merge of a symbol that ends there and one that starts
/// there. So a boundary is safe if no merge has a left side that ends the text before it and a
/// right side that starts the text after it. Both sides are compared by three bytes at most, in a
/// table that may say "unsafe" too often, never too seldom. Immutable.
class SafeCuts {
 public:
  /// nullptr where nothing can be proven: the vocabulary lacks a byte.
  static std::unique_ptr<const SafeCuts> Make(const BpeModel& model);

  /// Whether text[0, size) may be cut at `position`, 0 < position < size.
  bool IsSafe(const char* text, size_t size, size_t position) const;

  /// Whether a boundary between `left`, one to three bytes, and a byte `right` is safe whatever
  /// else is before and after it.
  bool IsSafeBefore(std::string_view left, uint8_t right) const;

  /// The first safe cut between characters after `begin`, or word.size().
  size_t FindCut(std::string_view word, size_t begin) const {
    size_t position = begin + 1;
    while (position < word.size() &&
           (utf8::IsContinuation(word[position]) || !IsSafe(word.data(), word.size(), position))) {
      ++position;
    }
    return position < word.size() ? position : word.size();
  }

 private:
  // Sides of one or two bytes are compared whole; of longer ones, the three bytes at the boundary.
  static constexpr size_t kContext = 3;
  static constexpr int kTableBits = 21;
  static constexpr int kByteTableBits = 18;

  SafeCuts()
      : kinds_(256 * 256, 0),
        table_(size_t{1} << (kTableBits - 6), 0),
        byte_table_(size_t{1} << kByteTableBits) {}

  // Of a left and a right context of i and j bytes: where in table_.
  static uint32_t Index(uint32_t left, size_t i, uint32_t right, size_t j) {
    const uint64_t hash = (left * uint64_t{4} + i) * 0x9E3779B97F4A7C15u +
                          (right * uint64_t{4} + j) * 0xD6E8FEB86659FD93u;
    return static_cast<uint32_t>((hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u >> (64 - kTableBits));
  }

  // Of a left context of i bytes and the byte after it: where in byte_table_.
  static uint32_t ByteIndex(uint32_t left, size_t i, uint8_t right) {
    return Index(left, i, right, 0) >> (kTableBits - kByteTableBits);
  }

  // By the byte before a boundary * 256 + the byte after it: which lengths of contexts some merge
  // has there, bit i * 3 + j - 4.
  std::vector<uint16_t> kinds_;
  std::vector<uint64_t> table_;
  std::vector<bool> byte_table_;
};

}  // namespace easydata::tokenizers
