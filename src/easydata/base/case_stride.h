#pragma once

namespace easydata {

/// Of so many cases that run the same code a test takes one: all of them, but for every fourth
/// under a sanitizer, where each takes ten times as long.
#ifdef EASYDATA_SANITIZED
inline constexpr int kCaseStride = 4;
#else
inline constexpr int kCaseStride = 1;
#endif

}  // namespace easydata
