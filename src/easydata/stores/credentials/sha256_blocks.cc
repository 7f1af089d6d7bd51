#include "easydata/stores/credentials/sha256_blocks.h"

#include <bit>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

namespace easydata::credentials {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
bool HasShaInstructions() {
  // __builtin_cpu_supports() of older compilers does not know them.
  constexpr unsigned kSha = 1U << 29;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0 &&
         __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3");
}
#endif

/// One of the 64 rounds. The caller turns the words round instead of moving them.
inline void Round(uint32_t a, uint32_t b, uint32_t c, uint32_t* d, uint32_t e, uint32_t f,
                  uint32_t g, uint32_t* h, uint32_t added) {
  const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
  const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
  *h += s1 + (((f ^ g) & e) ^ g) + added;
  *d += *h;
  *h += s0 + ((a & b) | ((a | b) & c));
}

}  // namespace

void Sha256BlocksPlain(const uint8_t* block, size_t count, uint32_t* state) {
  for (; count > 0; --count, block += 64) {
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
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i += 8) {
      const uint32_t* const k = kSha256Constants + i;
      Round(a, b, c, &d, e, f, g, &h, k[0] + w[i]);
      Round(h, a, b, &c, d, e, f, &g, k[1] + w[i + 1]);
      Round(g, h, a, &b, c, d, e, &f, k[2] + w[i + 2]);
      Round(f, g, h, &a, b, c, d, &e, k[3] + w[i + 3]);
      Round(e, f, g, &h, a, b, c, &d, k[4] + w[i + 4]);
      Round(d, e, f, &g, h, a, b, &c, k[5] + w[i + 5]);
      Round(c, d, e, &f, g, h, a, &b, k[6] + w[i + 6]);
      Round(b, c, d, &e, f, g, h, &a, k[7] + w[i + 7]);
    }
    const uint32_t words[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state[i] += words[i];
  }
}

Sha256Blocks BestSha256Blocks() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (HasShaInstructions()) return Sha256BlocksShani;
#endif
  return Sha256BlocksPlain;
}

}  // namespace easydata::credentials
