#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace easydata::http {

/// A time as services write it (RFC 3339): "2026-11-25T10:00:00Z", with fractions of a second
/// (".123"), an offset ("+02:00", "+0200") or none, which stands for UTC; nothing for other texts.
std::optional<std::chrono::system_clock::time_point> ParseIsoTime(std::string_view text);

}  // namespace easydata::http
