#include "easydata/order/permutation.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "easydata/base/random.h"

namespace easydata::order {
namespace {

// The top `bits` bits of a hash of a half of the block; bits > 0.
uint64_t RoundFunction(uint64_t half, uint64_t key, int bits) {
  uint64_t mixed = (half + key) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93u;
  return mixed >> (64 - bits);
}

}  // namespace

Permutation::Permutation(uint64_t size, std::initializer_list<uint64_t> entropy) : size_(size) {
  Pcg64 random(entropy);
  if (size <= kMaxTable) {
    table_.resize(size);
    std::iota(table_.begin(), table_.end(), uint16_t{0});
    random.ShuffleList(&table_);
    return;
  }
  const int bits = std::bit_width(size - 1);
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
  for (uint64_t& key : keys_) key = random.Next64();
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  uint64_t high = value >> low_bits_;
  uint64_t low = value & ((uint64_t{1} << low_bits_) - 1);
  for (size_t round = 0; round < kRounds; round += 2) {
    high ^= RoundFunction(low, keys_[round], high_bits_);
    low ^= RoundFunction(high, keys_[round + 1], low_bits_);
  }
  return high << low_bits_ | low;
}

uint64_t Permutation::operator[](uint64_t i) const {
  if (!table_.empty()) return table_[i];
  do {
    i = Encrypt(i);
  } while (i >= size_);
  return i;
}

void Permutation::Fill(uint64_t begin, std::span<uint64_t> items) const {
  if (!table_.empty()) {
    std::copy_n(table_.begin() + static_cast<ptrdiff_t>(begin), items.size(), items.begin());
    return;
  }
  // First one turn for all, independent of each other, then more for those beyond the size.
  for (size_t k = 0; k < items.size(); ++k) items[k] = Encrypt(begin + k);
  for (uint64_t& item : items) {
    while (item >= size_) item = Encrypt(item);
  }
}

GrainIndexShuffle::GrainIndexShuffle(uint64_t size, uint32_t seed, int rounds)
    : size_(size), keys_(static_cast<size_t>(rounds)) {
  constexpr int kMinBits = 16;
  // Of size - 1 values: one bit too few where that is a power of two and even.
  const int bits = size > 2 ? std::bit_width(size - 2) : 0;
  word_bits_ = std::max(bits + bits % 2, kMinBits) / 2;
  mask_ = (uint64_t{1} << word_bits_) - 1;
  std::seed_seq sequence{seed};
  sequence.generate(keys_.begin(), keys_.end());
}

uint64_t GrainIndexShuffle::RotateLeft(uint64_t word, int bits) const {
  return (word << bits | word >> (word_bits_ - bits)) & mask_;
}

uint64_t GrainIndexShuffle::Mix(uint64_t word) const {
  return (RotateLeft(word, 1) & RotateLeft(word, 8)) ^ RotateLeft(word, 2);
}

uint64_t GrainIndexShuffle::operator[](uint64_t i) const {
  if (size_ == 1) return 0;
  do {
    uint64_t high = i >> word_bits_ & mask_;
    uint64_t low = i & mask_;
    for (size_t round = 0; round < keys_.size(); round += 2) {
      high ^= Mix(low) ^ (keys_[round] & mask_);
      low ^= Mix(high) ^ (keys_[round + 1] & mask_);
    }
    i = high << word_bits_ | low;
  } while (i >= size_);
  return i;
}

}  // namespace easydata::order
