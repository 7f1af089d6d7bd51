#pragma once

#include <optional>
#include <string>

#include "easydata/base/status.h"
#include "easydata/io/credentials.h"
#include "easydata/io/http_store.h"

namespace easydata::io {

/// What AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI leads to (ECS,
/// EKS); nothing where neither is set. Invalid for an address that is neither https nor of this
/// machine.
/// https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
Result<std::optional<Credentials>> FindContainerCredentials(const HttpOptions& options);

/// The credentials of the role of this machine, by the metadata service of EC2 (IMDSv2, or the
/// first version where that is all there is); nothing, and `why`, where there is no such service or
/// no role.
/// https://docs.aws.amazon.com/sdkref/latest/guide/feature-imds-credentials.html
Result<std::optional<Credentials>> FindEc2Credentials(const HttpOptions& options, std::string* why);

}  // namespace easydata::io
