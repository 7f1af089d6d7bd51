#include "easydata/record_file/highway_hash.h"

#include <cstring>

#include "easydata/record_file/highway_hash_state.h"

namespace easydata::record_file {
namespace {

using Lanes = std::array<uint64_t, 4>;

uint64_t SwapHalves(uint64_t x) { return x >> 32 | x << 32; }

/// Byte `from` of a 128-bit value of two words, moved to byte `to` of a word.
uint64_t Byte(uint64_t word, int from, int to) { return (word >> 8 * from & 0xff) << 8 * to; }

/// Adds the bytes of two words, in another order, to two others: each byte of the sums depends on
/// many of theirs.
void AddZipped(uint64_t high, uint64_t low, uint64_t* add_high, uint64_t* add_low) {
  *add_low += Byte(low, 3, 0) | Byte(high, 4, 1) | Byte(low, 2, 2) | Byte(low, 5, 3) |
              Byte(high, 6, 4) | Byte(low, 1, 5) | Byte(high, 7, 6) | Byte(low, 0, 7);
  *add_high += Byte(high, 3, 0) | Byte(low, 4, 1) | Byte(high, 2, 2) | Byte(high, 5, 3) |
               Byte(high, 1, 4) | Byte(low, 6, 5) | Byte(high, 0, 6) | Byte(low, 7, 7);
}

class Highway {
 public:
  Highway() {
    for (size_t i = 0; i < 4; ++i) {
      v0_[i] = mul0_[i] ^ kRiegeliKey[i];
      v1_[i] = mul1_[i] ^ SwapHalves(kRiegeliKey[i]);
    }
  }

  void Update(const uint8_t* packet) {
    Lanes lanes;
    std::memcpy(lanes.data(), packet, kHighwayPacket);
    Update(lanes);
  }

  void UpdateRemainder(const uint8_t* bytes, size_t size) {
    for (size_t i = 0; i < 4; ++i) {
      v0_[i] += (static_cast<uint64_t>(size) << 32) + size;
      const auto low = static_cast<uint32_t>(v1_[i]);
      const auto high = static_cast<uint32_t>(v1_[i] >> 32);
      v1_[i] = Rotated(low, size) | static_cast<uint64_t>(Rotated(high, size)) << 32;
    }
    Update(HighwayRemainder(bytes, size).data());
  }

  uint64_t Finish() {
    for (int round = 0; round < 4; ++round) {
      Update({SwapHalves(v0_[2]), SwapHalves(v0_[3]), SwapHalves(v0_[0]), SwapHalves(v0_[1])});
    }
    return v0_[0] + v1_[0] + mul0_[0] + mul1_[0];
  }

 private:
  static uint32_t Rotated(uint32_t x, size_t by) { return by == 0 ? x : x << by | x >> (32 - by); }

  void Update(const Lanes& lanes) {
    for (size_t i = 0; i < 4; ++i) {
      v1_[i] += mul0_[i] + lanes[i];
      mul0_[i] ^= (v1_[i] & 0xffffffff) * (v0_[i] >> 32);
      v0_[i] += mul1_[i];
      mul1_[i] ^= (v0_[i] & 0xffffffff) * (v1_[i] >> 32);
    }
    AddZipped(v1_[1], v1_[0], &v0_[1], &v0_[0]);
    AddZipped(v1_[3], v1_[2], &v0_[3], &v0_[2]);
    AddZipped(v0_[1], v0_[0], &v1_[1], &v1_[0]);
    AddZipped(v0_[3], v0_[2], &v1_[3], &v1_[2]);
  }

  Lanes mul0_ = kHighwayInit0;
  Lanes mul1_ = kHighwayInit1;
  Lanes v0_;
  Lanes v1_;
};

}  // namespace

uint64_t HighwayHashPortable(std::string_view bytes) {
  const auto* at = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t size = bytes.size();
  Highway state;
  for (; size >= kHighwayPacket; at += kHighwayPacket, size -= kHighwayPacket) state.Update(at);
  if (size > 0) state.UpdateRemainder(at, size);
  return state.Finish();
}

bool HighwayHashHasAvx2() {
#if defined(__x86_64__) && defined(__GNUC__)
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
#else
  return false;
#endif
}

uint64_t HighwayHash(std::string_view bytes) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (HighwayHashHasAvx2()) {
    return HighwayHashAvx2(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
#endif
  return HighwayHashPortable(bytes);
}

}  // namespace easydata::record_file
