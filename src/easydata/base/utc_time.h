#pragma once

#include <cstdint>
#include <string>

namespace easydata {

/// Formats nanoseconds since 1970 for people: "2026-11-23 08:47:12.123456789 UTC".
std::string UtcTime(int64_t nanoseconds);

}  // namespace easydata
