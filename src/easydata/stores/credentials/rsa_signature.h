#pragma once

#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::credentials {

/// Signs a message by RSA with SHA-256 (RS256: PKCS #1 v1.5; RFC 7518, 3.3) and gives the
/// signature's bytes. `private_key` is in PEM, without a password. By OpenSSL's libcrypto, which is
/// loaded when it is first wanted. An IOError where that is not to be had, Invalid where the key is
/// none; neither shows the key.
Result<std::string> SignByRsa(const std::string& private_key, std::string_view message);

}  // namespace easydata::credentials
