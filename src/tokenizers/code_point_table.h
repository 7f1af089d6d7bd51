#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace easydata::tokenizers {

/// A value for each code point in two stages: only pages of 256 code points that hold something
/// take memory, so the few pages that a text needs stay in the cache.
template <typename T>
class CodePointTable {
 public:
  CodePointTable() : values_(kPageSize) {}

  /// The value of a code point below 0x110000; T() where none was set.
  T operator[](char32_t c) const {
    return values_[size_t{pages_[c >> kPageBits]} << kPageBits | (c & (kPageSize - 1))];
  }

  /// The slot of a code point's value.
  T& at(char32_t c) {
    uint16_t& page = pages_[c >> kPageBits];
    if (page == 0) {
      page = static_cast<uint16_t>(values_.size() >> kPageBits);
      values_.resize(values_.size() + kPageSize);
    }
    return values_[size_t{page} << kPageBits | (c & (kPageSize - 1))];
  }

 private:
  static constexpr int kPageBits = 8;
  static constexpr size_t kPageSize = 1 << kPageBits;

  std::array<uint16_t, 0x110000 / kPageSize> pages_{};
  std::vector<T> values_;
};

}  // namespace easydata::tokenizers
