#pragma once

#include "tokenizers/code_point_table.h"
#include "tokenizers/normalize/normalizer.h"

namespace easydata::tokenizers {

/// Lowercase of single code points as the reference's standard library knows it (Unicode 17), with
/// no regard to context. Built at the first call of Get.
class LowercaseTable {
 public:
  static const LowercaseTable& Get();

  /// U+0130 is the one character whose lowercase is two: U+0069 U+0307.
  static constexpr char32_t kDottedI = 0x130;

  /// Calls emit(char32_t) for each character of the lowercase of a code point.
  template <typename Emit>
  void Map(char32_t c, Emit emit) const {
    if (c == kDottedI) {
      emit(U'i');
      emit(char32_t{0x307});
    } else {
      emit(c + static_cast<char32_t>(distance_[c]));
    }
  }

  bool Changes(char32_t c) const { return distance_[c] != 0; }

 private:
  LowercaseTable();

  CodePointTable<int32_t> distance_;  // to the lowercase; not 0 for kDottedI
};

/// The Lowercase normalizer.
class Lowercase final : public Normalizer {
 public:
  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
};

}  // namespace easydata::tokenizers
