#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizers/code_point_table.h"
#include "tokenizers/unicode_tables.h"

namespace easydata::tokenizers {

/// Decompositions, compositions and combining classes of the reference (Unicode 9), laid out for
/// fast lookup.
class FormData {
 public:
  // What a code point's data consists of.
  static constexpr uint16_t kClassMask = 0xFF;           ///< canonical combining class
  static constexpr uint16_t kCanonical = 0x100;          ///< NFD changes it
  static constexpr uint16_t kCompatibility = 0x200;      ///< NFKD changes it
  static constexpr uint16_t kNotComposed = 0x400;        ///< NFC changes it
  static constexpr uint16_t kNotCompatComposed = 0x800;  ///< NFKC changes it
  static constexpr uint16_t kSecond = 0x1000;            ///< some character before it may absorb it

  /// The tables, built at the first call.
  static const FormData& Get();

  uint16_t operator[](char32_t c) const { return data_[c]; }
  uint8_t combining_class(char32_t c) const { return static_cast<uint8_t>(data_[c] & kClassMask); }

  /// Calls emit(char32_t) for each character of the full decomposition of a code point.
  template <typename Emit>
  void Decompose(char32_t c, bool compatible, Emit emit) const {
    if ((data_[c] & (compatible ? kCompatibility : kCanonical)) == 0) {
      emit(c);
      return;
    }
    if (c - kSBase < kSCount) {
      const char32_t index = c - kSBase;
      emit(kLBase + index / (kVCount * kTCount));
      emit(kVBase + index % (kVCount * kTCount) / kTCount);
      if (index % kTCount != 0) emit(kTBase + index % kTCount);
      return;
    }
    const Entry entry = compatible ? compatible_[c] : canonical_[c];
    for (uint32_t i = 0; i < entry.length; ++i) {
      emit(unicode_tables::kDecompositionPool[entry.offset + i]);
    }
  }

  /// The composite of two characters, or 0.
  char32_t Compose(char32_t a, char32_t b) const {
    if (a - kLBase < kLCount && b - kVBase < kVCount) {
      return kSBase + ((a - kLBase) * kVCount + (b - kVBase)) * kTCount;
    }
    if (a - kSBase < kSCount && (a - kSBase) % kTCount == 0 && b - kTBase - 1 < kTCount - 1) {
      return a + (b - kTBase);
    }
    for (size_t i = Hash(a, b);; i = (i + 1) % kNumPairs) {
      const unicode_tables::Composition& pair = pairs_[i];
      if (pair.first == a && pair.second == b) return pair.composed;
      if (pair.composed == 0) return 0;
    }
  }

 private:
  struct Entry {
    uint16_t offset;
    uint8_t length;
  };

  // Hangul syllables are composed by arithmetic (Unicode Standard, section 3.12).
  static constexpr char32_t kSBase = 0xAC00, kLBase = 0x1100, kVBase = 0x1161, kTBase = 0x11A7;
  static constexpr char32_t kLCount = 19, kVCount = 21, kTCount = 28;
  static constexpr char32_t kSCount = kLCount * kVCount * kTCount;
  static constexpr size_t kNumPairs = 4096;  // several times the compositions

  FormData();

  static size_t Hash(char32_t a, char32_t b) {
    return ((uint64_t{a} << 32 | b) * 0x9E3779B97F4A7C15u) >> 52;
  }

  CodePointTable<uint16_t> data_;
  CodePointTable<Entry> canonical_, compatible_;
  std::vector<unicode_tables::Composition> pairs_;  // open addressing; composed is 0 where free
};

}  // namespace easydata::tokenizers
