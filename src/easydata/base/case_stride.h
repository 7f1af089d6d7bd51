#pragma once

namespace easydata {

/// Tests take one of this many cases that run the same code: all of them, but every fourth under a
/// sanitizer, where each takes ten times as long.
#ifdef EASYDATA_SANITIZED
inline constexpr int kCaseStride = 4;
#else
inline constexpr int kCaseStride = 1;
#endif

}  // namespace easydata
