#include "easydata/pack/rows_by_free_space.h"

#include <bit>
#include <cstddef>
#include <utility>

namespace easydata::pack {

RowsByFreeSpace::RowsByFreeSpace(int32_t most) : heaps_(static_cast<size_t>(most) + 1, -1) {
  size_t bits = heaps_.size();
  do {
    bits = (bits + 63) / 64;
    levels_.emplace_back(bits, 0);
  } while (bits > 1);
}

void RowsByFreeSpace::Add(int32_t row, int32_t room) {
  if (static_cast<size_t>(row) >= child_.size()) {
    child_.resize(row + 1, -1);
    sibling_.resize(row + 1, -1);
  }
  child_[row] = sibling_[row] = -1;
  if (heaps_[room] >= 0) {
    heaps_[room] = Meld(heaps_[room], row);
    return;
  }
  heaps_[room] = row;
  auto bit = static_cast<size_t>(room);
  for (auto& level : levels_) {
    uint64_t& word = level[bit / 64];
    const bool known = word != 0;
    word |= uint64_t{1} << bit % 64;
    if (known) return;
    bit /= 64;
  }
}

RowsByFreeSpace::Row RowsByFreeSpace::Take(int32_t needed) {
  const int32_t room = FirstRoom(needed);
  if (room < 0) return {-1, 0};
  const int32_t row = heaps_[room];
  heaps_[room] = WithoutFirst(row);
  if (heaps_[room] < 0) Forget(room);
  return {row, room};
}

void RowsByFreeSpace::Clear() {
  for (int32_t room = FirstRoom(0); room >= 0; room = FirstRoom(room + 1)) {
    heaps_[room] = -1;
    Forget(room);
  }
  child_.clear();
  sibling_.clear();
}

void RowsByFreeSpace::Forget(int32_t room) {
  auto bit = static_cast<size_t>(room);
  for (auto& level : levels_) {
    uint64_t& word = level[bit / 64];
    word &= ~(uint64_t{1} << bit % 64);
    if (word != 0) return;
    bit /= 64;
  }
}

int32_t RowsByFreeSpace::FirstRoom(int32_t from) const {
  auto bit = static_cast<size_t>(from);
  for (size_t i = 0; i < levels_.size(); ++i) {
    const size_t w = bit / 64;
    if (w >= levels_[i].size()) return -1;
    const uint64_t word = levels_[i][w] >> bit % 64;
    if (word != 0) {
      bit += static_cast<size_t>(std::countr_zero(word));
      while (i-- > 0) bit = bit * 64 + static_cast<size_t>(std::countr_zero(levels_[i][bit]));
      return static_cast<int32_t>(bit);
    }
    bit = w + 1;
  }
  return -1;
}

int32_t RowsByFreeSpace::Meld(int32_t a, int32_t b) {
  if (a < 0) return b;
  if (b < 0) return a;
  if (b < a) std::swap(a, b);
  sibling_[b] = child_[a];
  child_[a] = b;
  return a;
}

int32_t RowsByFreeSpace::WithoutFirst(int32_t heap) {
  // Two passes: children are joined in pairs from left to right, the pairs from right to left.
  int32_t pairs = -1;
  for (int32_t next = child_[heap]; next >= 0;) {
    const int32_t a = next;
    const int32_t b = sibling_[a];
    next = b < 0 ? -1 : sibling_[b];
    sibling_[a] = -1;
    if (b >= 0) sibling_[b] = -1;
    const int32_t pair = Meld(a, b);
    sibling_[pair] = pairs;
    pairs = pair;
  }
  int32_t first = -1;
  while (pairs >= 0) {
    const int32_t next = sibling_[pairs];
    sibling_[pairs] = -1;
    first = Meld(first, pairs);
    pairs = next;
  }
  return first;
}

}  // namespace easydata::pack
