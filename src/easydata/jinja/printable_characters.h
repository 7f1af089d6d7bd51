#pragma once

#include <cstdint>

namespace easydata::jinja {

/// What Python's repr() does with characters, in runs: the first code point times 4, and 0 for
/// those that it escapes, 1 for those that it prints, 2 for those that Unicode 14 has not assigned.
extern const uint32_t kPrintableRuns[];
extern const int kNumPrintableRuns;

}  // namespace easydata::jinja
