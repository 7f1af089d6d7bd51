#pragma once

#include <cstdint>

#include "easydata/tokenizer/kernels.h"

namespace easydata {

/// 64 bytes of text as bit masks, one bit per byte. The classes are those of ASCII characters; of
/// wider ones only their bytes are marked.
struct ByteMasks {
  uint64_t letter;
  uint64_t number;
  uint64_t space;
  uint64_t newline;
  uint64_t blank;
  uint64_t apostrophe;
  uint64_t wide;          // 0x80 and above
  uint64_t continuation;  // 0x80 to 0xBF
};

/// Kernels of an instruction set, or nullptr when this build has none for it; the processor is not
/// asked.
const Kernels* Avx2Kernels();
const Kernels* Avx512Kernels();

}  // namespace easydata
