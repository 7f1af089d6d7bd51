#pragma once

#include <cstddef>
#include <cstdint>

namespace easydata {

/// XXH3 with a seed, of long inputs: the same values from wider registers. One function for each
/// instruction set, each in a file of its own; for processors that have it.
using LongHash = uint64_t (*)(const void* bytes, size_t size, uint64_t seed);

#if defined(__x86_64__) && defined(__GNUC__)
uint64_t LongHashAvx2(const void* bytes, size_t size, uint64_t seed);
uint64_t LongHashAvx512(const void* bytes, size_t size, uint64_t seed);
#endif

}  // namespace easydata
