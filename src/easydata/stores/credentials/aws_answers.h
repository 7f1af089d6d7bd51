#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "easydata/base/status.h"
#include "easydata/http/credentials.h"

namespace easydata::credentials {

/// Reads credentials in JSON, as programs (credential_process), containers and EC2 give them:
/// AccessKeyId, SecretAccessKey, SessionToken or Token, Expiration. An IOError says what `source`
/// gives that is not this, and never shows it.
/// https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
Result<http::Credentials> ParseAwsCredentials(std::string_view json, const std::string& source);

/// Reads the time until which credentials hold; "" stands for ever.
Result<std::chrono::system_clock::time_point> ParseExpiry(const std::string& text,
                                                          const std::string& source);

}  // namespace easydata::credentials
