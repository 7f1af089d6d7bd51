#pragma once

namespace easydata {

/// Tests take one of this many cases that run the same code: all of them, but every 13th under a
/// sanitizer, where each takes ten times as long. A prime number: cases differ by remainders.
#ifdef EASYDATA_SANITIZED
inline constexpr int kCaseStride = 13;
#else
inline constexpr int kCaseStride = 1;
#endif

}  // namespace easydata
