#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace easydata {

/// XXH3, 64 bits, of bytes: the same on every machine. Not cryptographic.
uint64_t Hash64(std::string_view bytes, uint64_t seed = 0);

/// XXH3, 128 bits, of bytes, the high half first: for what must never be mistaken for another.
std::array<uint64_t, 2> Hash128(std::string_view bytes);

/// 16 lower-case hexadecimal digits.
std::string ToHex(uint64_t value);

}  // namespace easydata
