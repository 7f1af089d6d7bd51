#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace easydata::credentials {

using Sha256Digest = std::array<uint8_t, 32>;

/// SHA-256 (FIPS 180-4).
Sha256Digest Sha256(std::string_view bytes);

/// HMAC of SHA-256 (RFC 2104).
Sha256Digest HmacSha256(std::string_view key, std::string_view bytes);

/// 64 lower-case hexadecimal digits.
std::string ToHex(const Sha256Digest& digest);

/// A digest's bytes, as a key of another one.
inline std::string_view BytesOf(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace easydata::credentials
