#pragma once

#include <string>
#include <string_view>

namespace easydata::http {

/// "https://host:port": what credentials are for.
std::string OriginOf(std::string_view url);

/// "host:port" of a web address, without the port that its scheme has anyway.
std::string HostOf(std::string_view url);

/// The address that a Location header leads to from `base`.
std::string ResolveUrl(std::string_view base, std::string_view location);

/// Escapes a text for a URL: all but letters, digits and "-._~", and but for "/" where
/// `keeps_slash` (RFC 3986, and what AWS signs).
std::string PercentEncode(std::string_view text, bool keeps_slash);

/// Undoes that; what is not two hexadecimal digits after "%" stays as it is.
std::string PercentDecode(std::string_view text);

/// Takes the user's name and password ("user:password") out of a web address.
std::string TakeUserinfo(std::string* url);

/// Whether credentials that were sent to one address may be sent to the other, to which it leads:
/// to the same host by the same scheme and port, or from http to https where both are by their own
/// port.
bool KeepsCredentials(std::string_view from, std::string_view to);

}  // namespace easydata::http
