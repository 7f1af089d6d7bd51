#include "easydata/record_file/highway_hash_state.h"

#if defined(__x86_64__) && defined(__GNUC__)

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#include <immintrin.h>

namespace easydata::record_file {
namespace {

struct HighwayVectors {
  __m256i v0, v1, mul0, mul1;
};

inline __m256i Loaded(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

/// The order of bytes of the portable AddZipped(), in each half.
inline __m256i Zipped(__m256i x) {
  const __m256i order = _mm256_set_epi64x(int64_t{0x070806090d0a040b}, int64_t{0x000f010e05020c03},
                                          int64_t{0x070806090d0a040b}, int64_t{0x000f010e05020c03});
  return _mm256_shuffle_epi8(x, order);
}

inline void UpdateVectors(HighwayVectors* s, __m256i packet) {
  s->v1 = _mm256_add_epi64(s->v1, _mm256_add_epi64(s->mul0, packet));
  s->mul0 = _mm256_xor_si256(s->mul0, _mm256_mul_epu32(s->v1, _mm256_srli_epi64(s->v0, 32)));
  s->v0 = _mm256_add_epi64(s->v0, s->mul1);
  s->mul1 = _mm256_xor_si256(s->mul1, _mm256_mul_epu32(s->v0, _mm256_srli_epi64(s->v1, 32)));
  s->v0 = _mm256_add_epi64(s->v0, Zipped(s->v1));
  s->v1 = _mm256_add_epi64(s->v1, Zipped(s->v0));
}

}  // namespace

uint64_t HighwayHashAvx2(const uint8_t* bytes, size_t size) {
  HighwayVectors s;
  s.mul0 = Loaded(kHighwayInit0.data());
  s.mul1 = Loaded(kHighwayInit1.data());
  const __m256i key = Loaded(kRiegeliKey.data());
  s.v0 = _mm256_xor_si256(s.mul0, key);
  s.v1 = _mm256_xor_si256(s.mul1, _mm256_shuffle_epi32(key, 0xB1));
  for (; size >= kHighwayPacket; bytes += kHighwayPacket, size -= kHighwayPacket) {
    UpdateVectors(&s, Loaded(bytes));
  }
  if (size > 0) {
    const auto count = static_cast<int>(size);
    s.v0 = _mm256_add_epi64(s.v0, _mm256_set1_epi32(count));
    s.v1 = _mm256_or_si256(_mm256_slli_epi32(s.v1, count), _mm256_srli_epi32(s.v1, 32 - count));
    UpdateVectors(&s, Loaded(HighwayRemainder(bytes, size).data()));
  }
  for (int round = 0; round < 4; ++round) {
    // Words 2, 3, 0, 1, the halves of each exchanged.
    const __m256i crossed = _mm256_permute4x64_epi64(s.v0, 0x4E);
    UpdateVectors(&s, _mm256_shuffle_epi32(crossed, 0xB1));
  }
  const __m256i sum =
      _mm256_add_epi64(_mm256_add_epi64(s.v0, s.v1), _mm256_add_epi64(s.mul0, s.mul1));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(sum)));
}

}  // namespace easydata::record_file

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
