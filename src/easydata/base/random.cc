#include "easydata/base/random.h"

#include <array>
#include <numeric>

namespace easydata {
namespace {

constexpr int kPoolSize = 4;

/// NumPy's SeedSequence: spreads entropy of any length over 128 bits (after M. O'Neill's
/// seed_seq_fe).
class SeedSequence {
 public:
  explicit SeedSequence(const std::vector<uint32_t>& entropy) {
    uint32_t constant = 0x43b0d7e5;
    auto hash = [&constant](uint32_t value) {
      value ^= constant;
      constant *= 0x931e8875;
      value *= constant;
      return value ^ (value >> 16);
    };
    auto mix = [](uint32_t x, uint32_t y) {
      const uint32_t result = 0xca01f9dd * x - 0x4973f715 * y;
      return result ^ (result >> 16);
    };
    for (size_t i = 0; i < kPoolSize; ++i) pool_[i] = hash(i < entropy.size() ? entropy[i] : 0);
    for (int source = 0; source < kPoolSize; ++source) {
      for (int target = 0; target < kPoolSize; ++target) {
        if (source != target) pool_[target] = mix(pool_[target], hash(pool_[source]));
      }
    }
    for (size_t i = kPoolSize; i < entropy.size(); ++i) {
      for (uint32_t& target : pool_) target = mix(target, hash(entropy[i]));
    }
  }

  std::array<uint64_t, 4> State() const {
    std::array<uint32_t, 8> words;
    uint32_t constant = 0x8b51f9dd;
    for (size_t i = 0; i < words.size(); ++i) {
      uint32_t value = pool_[i % kPoolSize] ^ constant;
      constant *= 0x58f38ded;
      value *= constant;
      words[i] = value ^ (value >> 16);
    }
    std::array<uint64_t, 4> state;
    for (size_t i = 0; i < state.size(); ++i) {
      state[i] = words[2 * i] | static_cast<uint64_t>(words[2 * i + 1]) << 32;
    }
    return state;
  }

 private:
  std::array<uint32_t, kPoolSize> pool_;
};

__extension__ using Uint128 = unsigned __int128;

constexpr Uint128 Join(uint64_t high, uint64_t low) {
  return static_cast<Uint128>(high) << 64 | low;
}

}  // namespace

Pcg64::Pcg64(std::initializer_list<uint64_t> entropy) {
  std::vector<uint32_t> words;
  for (uint64_t number : entropy) {
    words.push_back(static_cast<uint32_t>(number));
    if (number >> 32 != 0) words.push_back(static_cast<uint32_t>(number >> 32));
  }
  const auto seed = SeedSequence(words).State();
  const Uint128 increment = Join(seed[2], seed[3]) << 1 | 1;
  increment_ = {static_cast<uint64_t>(increment >> 64), static_cast<uint64_t>(increment)};
  const Uint128 state = increment + Join(seed[0], seed[1]);
  state_ = {static_cast<uint64_t>(state >> 64), static_cast<uint64_t>(state)};
  Step();
}

void Pcg64::Step() {
  constexpr Uint128 kMultiplier = Join(2549297995355413924ULL, 4865540595714422341ULL);
  const Uint128 state =
      Join(state_.high, state_.low) * kMultiplier + Join(increment_.high, increment_.low);
  state_ = {static_cast<uint64_t>(state >> 64), static_cast<uint64_t>(state)};
}

uint64_t Pcg64::Next64() {
  Step();
  const uint64_t value = state_.high ^ state_.low;
  const int rotation = static_cast<int>(state_.high >> 58);
  return value >> rotation | value << (-rotation & 63);
}

uint32_t Pcg64::Next32() {
  if (has_half_) {
    has_half_ = false;
    return half_;
  }
  const uint64_t value = Next64();
  has_half_ = true;
  half_ = static_cast<uint32_t>(value >> 32);
  return static_cast<uint32_t>(value);
}

uint64_t Pcg64::Interval(uint64_t max) {
  if (max == 0) return 0;
  uint64_t mask = max;
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  uint64_t value;
  do {
    value = (max <= 0xffffffffULL ? Next32() : Next64()) & mask;
  } while (value > max);
  return value;
}

std::vector<int64_t> WindowOrder(uint64_t seed, uint64_t epoch, uint64_t window, int64_t size) {
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  Pcg64({seed, epoch, window}).ShuffleList(&order);
  return order;
}

}  // namespace easydata
