#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace easydata::http {

/// Seconds since 1970 of a date in HTTP headers, "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, the
/// form that servers must send); nothing for other texts. Days before 1900 and after 2100 are the
/// nearest between, so that clocks of nanoseconds can count them.
std::optional<int64_t> ParseHttpDate(std::string_view text);

}  // namespace easydata::http
