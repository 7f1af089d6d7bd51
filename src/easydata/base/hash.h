#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace easydata {

/// XXH3, 64 bits, of bytes: the same on every machine. Not cryptographic.
uint64_t Hash64(std::string_view bytes, uint64_t seed = 0);

/// 16 lower-case hexadecimal digits.
std::string ToHex(uint64_t value);

}  // namespace easydata
