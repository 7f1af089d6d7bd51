#include "easydata/tokenizer/model/string_table.h"

#include "easydata/base/hash.h"

namespace easydata {

size_t StringTable::SlotOf(std::string_view string) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = Hash64(string) & mask;
  while (slots_[slot] >= 0 && (*this)[slots_[slot]] != string) slot = (slot + 1) & mask;
  return slot;
}

int32_t StringTable::Find(std::string_view string) const { return slots_[SlotOf(string)]; }

int32_t StringTable::Insert(std::string_view string) {
  size_t slot = SlotOf(string);
  if (slots_[slot] >= 0) return slots_[slot];
  if (offsets_.size() * 2 > slots_.size()) {
    Grow();
    slot = SlotOf(string);
  }
  const auto index = static_cast<int32_t>(size());
  arena_.append(string);
  offsets_.push_back(arena_.size());
  slots_[slot] = index;
  return index;
}

void StringTable::Grow() {
  slots_.assign(slots_.size() * 4, -1);
  for (int64_t i = 0; i < size(); ++i) slots_[SlotOf((*this)[i])] = static_cast<int32_t>(i);
}

}  // namespace easydata
