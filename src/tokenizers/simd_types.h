#pragma once

#include "tokenizers/kernels.h"

namespace easydata::tokenizers {

/// Kernels of an instruction set, or nullptr when this build has none for it; the processor is not
/// asked.
const Kernels* Avx2Kernels();
const Kernels* Avx512Kernels();

}  // namespace easydata::tokenizers
