#include "easydata/base/hash.h"

#include "easydata/base/long_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace easydata {
namespace {

/// Bytes above which a call through a pointer pays: shorter inputs do not use wide registers.
constexpr size_t kLong = 240;

uint64_t LongHashPlain(const void* bytes, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

LongHash BestLongHash() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f")) return LongHashAvx512;
  if (__builtin_cpu_supports("avx2")) return LongHashAvx2;
#endif
  return LongHashPlain;
}

}  // namespace

uint64_t Hash64(std::string_view bytes, uint64_t seed) {
  if (bytes.size() <= kLong) return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
  static const LongHash long_hash = BestLongHash();
  return long_hash(bytes.data(), bytes.size(), seed);
}

std::array<uint64_t, 2> Hash128(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string ToHex(uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) text[i] = kDigits[value & 15];
  return text;
}

}  // namespace easydata
