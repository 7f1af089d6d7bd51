#pragma once

#include <optional>
#include <string>

#include "easydata/base/status.h"
#include "easydata/http/credentials.h"
#include "easydata/http/http_store.h"

namespace easydata::credentials {

/// A role to take on, and where that is asked for.
struct AwsRole {
  std::string arn = {};
  std::string session_name = {};  // empty: one of ours
  std::optional<std::string> external_id = {};
  std::optional<std::string> duration_seconds = {};
  std::optional<std::string> region = {};
  std::optional<std::string> endpoint_url = {};  // unset: that of the region
};

/// Takes on a role by the token service of AWS (STS), which lends credentials of it for some time.
/// An IOError names the role and says why not.
/// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
Result<http::Credentials> AssumeRole(const AwsRole& role, const http::Credentials& source,
                                     const http::HttpOptions& options);

/// Takes on a role by the token of a file, which says who the bearer is (Kubernetes).
/// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
Result<http::Credentials> AssumeRoleWithWebIdentity(const AwsRole& role,
                                                    const std::string& token_file,
                                                    const http::HttpOptions& options);

}  // namespace easydata::credentials
