#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace easydata {

/// A set of distinct strings that are numbered in the order in which they came: an arena, offsets
/// and a flat hash table of numbers.
class StringTable {
 public:
  StringTable() : slots_(kInitialSlots, -1) {}

  /// The number of strings.
  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }

  /// String number `index`; valid until the next Insert.
  std::string_view operator[](int64_t index) const {
    return std::string_view(arena_).substr(offsets_[index], offsets_[index + 1] - offsets_[index]);
  }

  /// The number of `string`, or -1.
  int32_t Find(std::string_view string) const;

  /// Adds `string` unless it is there. Returns its number.
  int32_t Insert(std::string_view string);

 private:
  static constexpr size_t kInitialSlots = 1024;

  size_t SlotOf(std::string_view string) const;
  void Grow();

  std::string arena_;
  std::vector<uint64_t> offsets_ = {0};
  std::vector<int32_t> slots_;  // a power of two of them, at most half used
};

}  // namespace easydata
