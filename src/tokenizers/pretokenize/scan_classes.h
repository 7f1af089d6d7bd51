#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tokenizers/pretokenize/split_scanner.h"

namespace easydata::tokenizers {

/// Bits of a character's scan classes.
inline constexpr uint8_t kScanLetter = 1;        ///< \p{L}
inline constexpr uint8_t kScanNumber = 2;        ///< \p{N}, or what Digits takes for a number
inline constexpr uint8_t kScanSpace = 4;         ///< \s
inline constexpr uint8_t kScanMark = 8;          ///< \p{M}
inline constexpr uint8_t kScanUpper = 16;        ///< \p{Lu}, \p{Lt}
inline constexpr uint8_t kScanLower = 32;        ///< \p{Ll}
inline constexpr uint8_t kScanPunctuation = 64;  ///< \p{P}, \p{S}
inline constexpr uint8_t kScanCjk = 128;         ///< U+4E00 to U+9FA5, U+3040 to U+30FF: what
                                                 ///< DeepSeek-V3 sets apart

/// The scan classes of ASCII.
struct AsciiScanClasses {
  alignas(64) uint8_t classes[128] = {};

  constexpr AsciiScanClasses() {
    for (int c = 0; c < 128; ++c) {
      const bool upper = c >= 'A' && c <= 'Z';
      const bool lower = c >= 'a' && c <= 'z';
      const bool digit = c >= '0' && c <= '9';
      const bool space = c == ' ' || (c >= '\t' && c <= '\r');
      classes[c] = static_cast<uint8_t>(upper                 ? kScanLetter | kScanUpper
                                        : lower               ? kScanLetter | kScanLower
                                        : digit               ? kScanNumber
                                        : space               ? kScanSpace
                                        : c > ' ' && c < 0x7F ? kScanPunctuation
                                                              : 0);
    }
  }
};

inline constexpr AsciiScanClasses kAsciiScanClasses;

/// The scan classes of all characters, a byte each.
class ScanClasses {
 public:
  /// 0x110000 bytes, built at the first call; the 64 of characters that differ in the last byte of
  /// their UTF-8 only lie in a row. `digits`: numbers are those of Digits.
  static const uint8_t* Get(bool digits);

  template <SplitPattern kPattern>
  static const uint8_t* Of() {
    return Get(TraitsOf(kPattern).digits_apart);
  }

 private:
  explicit ScanClasses(bool digits);

  std::unique_ptr<uint8_t[]> table_;
};

}  // namespace easydata::tokenizers
