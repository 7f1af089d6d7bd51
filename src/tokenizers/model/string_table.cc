#include "tokenizers/model/string_table.h"

#include <bit>

#include "easydata/base/hash.h"

namespace easydata::tokenizers {

size_t StringTable::SlotOf(std::string_view string, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const uint64_t entry = slots_[slot];
    if (entry == kEmpty) return slot;
    if ((entry ^ hash) >> 32 == 0 && (*this)[static_cast<uint32_t>(entry) - 1] == string) {
      return slot;
    }
  }
}

uint64_t StringTable::HashOf(std::string_view string) { return Hash64(string); }

int32_t StringTable::Find(std::string_view string, uint64_t hash) const {
  return static_cast<int32_t>(slots_[SlotOf(string, hash)]) - 1;
}

int32_t StringTable::Insert(std::string_view string) {
  if (offsets_.size() * 2 > slots_.size()) Resize(slots_.size() * 4);
  const uint64_t hash = Hash64(string);
  const size_t slot = SlotOf(string, hash);
  if (slots_[slot] != kEmpty) return static_cast<int32_t>(slots_[slot]) - 1;
  const auto index = static_cast<uint32_t>(size());
  arena_.append(string);
  offsets_.push_back(static_cast<uint32_t>(arena_.size()));
  slots_[slot] = Entry(hash, index);
  return static_cast<int32_t>(index);
}

void StringTable::Reserve(int64_t count) {
  offsets_.reserve(count + 1);
  const size_t slots = std::bit_ceil(static_cast<size_t>(count + 1) * 2);
  if (slots > slots_.size()) Resize(slots);
}

void StringTable::Resize(size_t slots) {
  slots_.assign(slots, kEmpty);
  for (int64_t i = 0; i < size(); ++i) {
    const std::string_view string = (*this)[i];
    const uint64_t hash = Hash64(string);
    size_t slot = hash & (slots - 1);
    while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots - 1);
    slots_[slot] = Entry(hash, static_cast<uint32_t>(i));
  }
}

}  // namespace easydata::tokenizers
