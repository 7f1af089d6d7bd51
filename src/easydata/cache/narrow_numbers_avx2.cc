#include "easydata/cache/narrow_numbers.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

namespace easydata::cache {

__attribute__((target("avx2"))) uint32_t NarrowNumbersAvx2(const uint32_t* from, int64_t count,
                                                           uint16_t* to) {
  const __m256i low = _mm256_set1_epi32(0xFFFF);
  __m256i all = _mm256_setzero_si256();
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const auto* const at = reinterpret_cast<const __m256i*>(from + i);
    const __m256i first = _mm256_loadu_si256(at);
    const __m256i second = _mm256_loadu_si256(at + 1);
    all = _mm256_or_si256(all, _mm256_or_si256(first, second));
    // Numbers of each half of a register come out side by side: quarters 0 2 1 3.
    const __m256i packed =
        _mm256_packus_epi32(_mm256_and_si256(first, low), _mm256_and_si256(second, low));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_permute4x64_epi64(packed, 0b11'01'10'00));
  }
  alignas(32) uint32_t bits[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(bits), all);
  uint32_t found = NarrowNumbersPlain(from + i, count - i, to + i);
  for (const uint32_t each : bits) found |= each;
  return found;
}

}  // namespace easydata::cache

#endif
