#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "easydata/http/credentials.h"
#include "easydata/http/http_client.h"

namespace easydata::credentials {

struct SigningScope {
  std::string region;
  std::string service = "s3";
};

/// Signs a request by AWS Signature Version 4: adds x-amz-date, x-amz-content-sha256,
/// x-amz-security-token and Authorization. The URL's path must be escaped already, as
/// PercentEncode() does, and its query's names and values as well; S3 takes the path as it is,
/// other services its escaped form. All headers of the request are signed.
/// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
void SignAwsRequest(const http::Credentials& credentials, const SigningScope& scope,
                    std::chrono::system_clock::time_point now, http::HttpRequest* request);

}  // namespace easydata::credentials
