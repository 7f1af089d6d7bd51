#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace easydata::order {

/// A permutation of 0 .. size - 1, drawn by its entropy: index i holds item (*this)[i]. Takes
/// constant memory (8 KiB at most) and constant time for each index, whatever the size.
///
/// Sizes up to 4,096 are a table, shuffled. Larger ones go through a Feistel network over the next
/// power of two, again and again until the result is below the size ("cycle walking": Black and
/// Rogaway, Ciphers with Arbitrary Finite Domains, 2002; less than two turns on average). The same
/// on every machine.
class Permutation {
 public:
  /// `size` > 0. Streams that differ have different entropy: {seed, epoch, ...}.
  Permutation(uint64_t size, std::initializer_list<uint64_t> entropy);

  uint64_t size() const { return size_; }

  uint64_t operator[](uint64_t i) const;

  /// Writes the items of indices begin, begin + 1, ... to `items`.
  void Fill(uint64_t begin, std::span<uint64_t> items) const;

 private:
  static constexpr uint64_t kMaxTable = 4096;
  static constexpr size_t kRounds = 6;

  uint64_t Encrypt(uint64_t value) const;

  uint64_t size_;
  std::vector<uint16_t> table_;  // empty for larger sizes
  int high_bits_ = 0;            // of the network's two halves, which may differ by one
  int low_bits_ = 0;
  std::array<uint64_t, kRounds> keys_{};
};

/// Grain's `index_shuffle(i, max_index=size - 1, seed, rounds)`, to the bit: a SIMON-like network
/// of at least 16 bits whose keys are those of std::seed_seq. Not quite a permutation where size is
/// 4^k + 1, k >= 8, and at 4 rounds far from random between neighbours: for orders that have to
/// equal Grain's.
class GrainIndexShuffle {
 public:
  /// `size` > 0; `rounds` even.
  GrainIndexShuffle(uint64_t size, uint32_t seed, int rounds = 4);

  uint64_t operator[](uint64_t i) const;

 private:
  uint64_t RotateLeft(uint64_t word, int bits) const;
  uint64_t Mix(uint64_t word) const;

  uint64_t size_;
  int word_bits_;
  uint64_t mask_;
  std::vector<uint32_t> keys_;
};

}  // namespace easydata::order
