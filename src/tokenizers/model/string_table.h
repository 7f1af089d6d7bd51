#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace easydata::tokenizers {

/// A set of distinct strings that are numbered in the order in which they came: an arena, offsets
/// and a flat hash table of numbers. Holds less than 4 GiB.
class StringTable {
 public:
  StringTable() : slots_(kInitialSlots, kEmpty) {}

  /// The number of strings.
  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }

  /// String number `index`; valid until the next Insert.
  std::string_view operator[](int64_t index) const {
    return {arena_.data() + offsets_[index], offsets_[index + 1] - offsets_[index]};
  }

  /// The number of `string`, or -1.
  int32_t Find(std::string_view string) const { return Find(string, HashOf(string)); }

  /// Find in two steps, so that many strings' memory can be asked for before the first is compared.
  static uint64_t HashOf(std::string_view string);
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }
  int32_t Find(std::string_view string, uint64_t hash) const;

  /// Adds `string` unless it is there. Returns its number.
  int32_t Insert(std::string_view string);

  /// Reserves memory for `count` strings.
  void Reserve(int64_t count);

 private:
  static constexpr size_t kInitialSlots = 1024;
  static constexpr uint64_t kEmpty = 0;

  // The upper half of the hash above a number plus one: most other strings differ there already.
  static uint64_t Entry(uint64_t hash, uint32_t index) {
    return (hash & 0xFFFFFFFF00000000u) | (index + 1);
  }

  // The slot of `string`, or the one where it belongs.
  size_t SlotOf(std::string_view string, uint64_t hash) const;
  void Resize(size_t slots);

  std::string arena_;
  std::vector<uint32_t> offsets_ = {0};
  std::vector<uint64_t> slots_;  // a power of two of them, at most half used
};

}  // namespace easydata::tokenizers
