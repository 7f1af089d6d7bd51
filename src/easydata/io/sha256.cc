#include "easydata/io/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace easydata::io {
namespace {

constexpr size_t kShaBlock = 64;  // bytes

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kShaConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

class Sha256State {
 public:
  void Update(std::string_view bytes) {
    size_ += bytes.size();
    if (held_ > 0) {
      const size_t taken = std::min(kShaBlock - held_, bytes.size());
      std::memcpy(block_ + held_, bytes.data(), taken);
      held_ += taken;
      bytes.remove_prefix(taken);
      if (held_ < kShaBlock) return;
      Compress(block_);
      held_ = 0;
    }
    while (bytes.size() >= kShaBlock) {
      Compress(reinterpret_cast<const uint8_t*>(bytes.data()));
      bytes.remove_prefix(kShaBlock);
    }
    std::memcpy(block_, bytes.data(), bytes.size());
    held_ = bytes.size();
  }

  Sha256Digest Finish() {
    const uint64_t bits = size_ * 8;
    uint8_t end[kShaBlock + 8] = {0x80};
    const size_t zeros = (held_ < 56 ? 56 : 120) - held_;
    for (int i = 0; i < 8; ++i) end[zeros + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
    Update({reinterpret_cast<const char*>(end), zeros + 8});
    Sha256Digest digest;
    for (size_t i = 0; i < digest.size(); ++i) {
      digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    }
    return digest;
  }

 private:
  void Compress(const uint8_t* block) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
      w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
             uint32_t{block[4 * i + 2]} << 8 | uint32_t{block[4 * i + 3]};
    }
    for (int i = 16; i < 64; ++i) {
      const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
      const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (int i = 0; i < 64; ++i) {
      const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kShaConstants[i] + w[i];
      const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    const uint32_t round[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state_[i] += round[i];
  }

  // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t block_[kShaBlock];
  size_t held_ = 0;
  uint64_t size_ = 0;
};

}  // namespace

Sha256Digest Sha256(std::string_view bytes) {
  Sha256State state;
  state.Update(bytes);
  return state.Finish();
}

Sha256Digest HmacSha256(std::string_view key, std::string_view bytes) {
  char padded[kShaBlock] = {};
  if (key.size() > kShaBlock) {
    const Sha256Digest digest = Sha256(key);
    std::memcpy(padded, digest.data(), digest.size());
  } else {
    std::memcpy(padded, key.data(), key.size());
  }
  char inner[kShaBlock];
  char outer[kShaBlock];
  for (size_t i = 0; i < kShaBlock; ++i) {
    inner[i] = static_cast<char>(padded[i] ^ 0x36);
    outer[i] = static_cast<char>(padded[i] ^ 0x5c);
  }
  Sha256State first;
  first.Update({inner, kShaBlock});
  first.Update(bytes);
  const Sha256Digest digest = first.Finish();
  Sha256State second;
  second.Update({outer, kShaBlock});
  second.Update(BytesOf(digest));
  return second.Finish();
}

std::string ToHex(const Sha256Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace easydata::io
