#pragma once

#include <chrono>
#include <string>

namespace easydata::http {

/// What proves who asks, as long as it holds.
struct Credentials {
  std::string key = {};     // AWS: the access key
  std::string secret = {};  // AWS: the secret key
  std::string token = {};   // AWS: the session token, if any; Google: the access token
  std::chrono::system_clock::time_point expires = std::chrono::system_clock::time_point::max();
};

}  // namespace easydata::http
