#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace easydata {

/// NumPy's PCG64 generator as `numpy.random.default_rng(entropy)` makes it: SeedSequence, PCG XSL
/// RR 128/64. The same numbers on every machine, a function of the entropy alone.
class Pcg64 {
 public:
  /// One number is `default_rng(n)`, several are `default_rng([n, ...])`.
  explicit Pcg64(std::initializer_list<uint64_t> entropy);

  uint64_t Next64();
  /// Half of a 64-bit draw, the low one first: NumPy keeps the other half for the next call.
  uint32_t Next32();
  /// A number of [0, max], by masking and rejection (NumPy's `random_interval`).
  uint64_t Interval(uint64_t max);

  /// `Generator.shuffle` of a Python list: what EasyDeL's blocks are ordered by. (NumPy shuffles
  /// arrays by another method.)
  template <typename T>
  void ShuffleList(std::vector<T>* list) {
    for (size_t i = list->size(); i-- > 1;) {
      const size_t j = static_cast<size_t>(Interval(i));
      std::swap((*list)[i], (*list)[j]);
    }
  }

 private:
  // 128-bit numbers as two words: `unsigned __int128` is no ISO type.
  struct Word128 {
    uint64_t high;
    uint64_t low;
  };
  void Step();

  Word128 state_;
  Word128 increment_;
  bool has_half_ = false;
  uint32_t half_ = 0;
};

/// The order in which a shuffle of `size` items gives them out: index i holds item result[i].
/// Equals a list(range(size)) shuffled by `numpy.random.default_rng([seed, epoch, window])`.
std::vector<int64_t> WindowOrder(uint64_t seed, uint64_t epoch, uint64_t window, int64_t size);

}  // namespace easydata
