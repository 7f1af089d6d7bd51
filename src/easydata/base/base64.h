#pragma once

#include <string>
#include <string_view>

namespace easydata {

/// Base64 with padding (RFC 4648, 4).
std::string Base64(std::string_view bytes);

/// Base64 for URLs, without padding (RFC 4648, 5): what JSON web tokens are written in.
std::string Base64Url(std::string_view bytes);

}  // namespace easydata
