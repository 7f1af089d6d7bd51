#include "easydata/cache/narrow_numbers.h"

namespace easydata::cache {

uint32_t NarrowNumbersPlain(const uint32_t* from, int64_t count, uint16_t* to) {
  uint32_t all = 0;
  for (int64_t i = 0; i < count; ++i) {
    all |= from[i];
    to[i] = static_cast<uint16_t>(from[i]);
  }
  return all;
}

NarrowNumbers BestNarrowNumbers() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2")) return NarrowNumbersAvx2;
#endif
  return NarrowNumbersPlain;
}

}  // namespace easydata::cache
