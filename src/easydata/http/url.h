#pragma once

#include <string>
#include <string_view>

namespace easydata::http {

bool IsHttpUrl(std::string_view url);

/// "https://host:port": what credentials are for.
std::string OriginOf(std::string_view url);

/// The address that a Location header leads to from `base`.
std::string ResolveUrl(std::string_view base, std::string_view location);

/// Escapes a text for a URL: all but letters, digits and "-._~", and but for "/" where
/// `keeps_slash` (RFC 3986, and what AWS signs).
std::string PercentEncode(std::string_view text, bool keeps_slash);

/// Undoes that; what is not two hexadecimal digits after "%" stays as it is.
std::string PercentDecode(std::string_view text);

/// An address without its user's name and password, where it has a password:
/// "ftp://user:password@host/key".
std::string WithoutPassword(const std::string& address);

}  // namespace easydata::http
