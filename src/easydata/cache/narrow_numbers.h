#pragma once

#include <cstdint>

namespace easydata::cache {

/// Writes the low 16 bits of `count` numbers; returns the bits that some of them have, so that they
/// were all of them where it is below 2^16. One function for each instruction set, each in a file
/// of its own; for processors that have it.
using NarrowNumbers = uint32_t (*)(const uint32_t* from, int64_t count, uint16_t* to);

uint32_t NarrowNumbersPlain(const uint32_t* from, int64_t count, uint16_t* to);
#if defined(__x86_64__) && defined(__GNUC__)
uint32_t NarrowNumbersAvx2(const uint32_t* from, int64_t count, uint16_t* to);
#endif

/// The fastest that this processor has.
NarrowNumbers BestNarrowNumbers();

}  // namespace easydata::cache
