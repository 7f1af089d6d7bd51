#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace easydata::record_file {

/// "Riegeli/records\n" twice.
inline constexpr std::array<uint64_t, 4> kRiegeliKey = {0x2f696c6567656952, 0x0a7364726f636572,
                                                        0x2f696c6567656952, 0x0a7364726f636572};

/// The first words of two tables of constants, digits of pi.
inline constexpr std::array<uint64_t, 4> kHighwayInit0 = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0,
                                                          0x13198a2e03707344, 0x243f6a8885a308d3};
inline constexpr std::array<uint64_t, 4> kHighwayInit1 = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c,
                                                          0xbe5466cf34e90c6c, 0x452821e638d01377};

inline constexpr size_t kHighwayPacket = 32;  // bytes

/// What is hashed in place of the last `size` < 32 bytes: some of them twice, at fixed offsets.
inline std::array<uint8_t, kHighwayPacket> HighwayRemainder(const uint8_t* bytes, size_t size) {
  std::array<uint8_t, kHighwayPacket> packet{};
  const size_t odd = size & 3;
  const uint8_t* const rest = bytes + (size - odd);
  for (size_t i = 0; i < size - odd; ++i) packet[i] = bytes[i];
  if ((size & 16) != 0) {
    for (size_t i = 0; i < 4; ++i) packet[28 + i] = bytes[size - 4 + i];
  } else if (odd != 0) {
    packet[16] = rest[0];
    packet[17] = rest[odd >> 1];
    packet[18] = rest[odd - 1];
  }
  return packet;
}

#if defined(__x86_64__) && defined(__GNUC__)
uint64_t HighwayHashAvx2(const uint8_t* bytes, size_t size);
#endif

}  // namespace easydata::record_file
