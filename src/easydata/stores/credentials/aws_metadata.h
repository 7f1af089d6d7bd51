#pragma once

#include <optional>
#include <string>

#include "easydata/base/status.h"
#include "easydata/http/credentials.h"
#include "easydata/http/http_store.h"

namespace easydata::credentials {

/// What AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI leads to (ECS,
/// EKS); nothing where neither is set. Invalid for an address that is neither https nor of this
/// machine.
/// https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
Result<std::optional<http::Credentials>> FindContainerCredentials(const http::HttpOptions& options);

/// The credentials of the role of this machine, by the metadata service of EC2 (IMDSv2, or the
/// first version where that is all there is); nothing, and `why`, where there is no such service or
/// no role.
/// https://docs.aws.amazon.com/sdkref/latest/guide/feature-imds-credentials.html
Result<std::optional<http::Credentials>> FindEc2Credentials(const http::HttpOptions& options,
                                                            std::string* why);

}  // namespace easydata::credentials
