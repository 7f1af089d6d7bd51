#pragma once

#include <memory>
#include <optional>
#include <string>

#include "easydata/base/status.h"
#include "easydata/stores/credentials/credential_cache.h"
#include "easydata/stores/storage_options.h"

namespace easydata::credentials {

/// AWS: what `options` say; AWS_ACCESS_KEY_ID and its like; the profile in the files of the AWS
/// command line (keys, credential_process, a role, SSO by that command);
/// AWS_WEB_IDENTITY_TOKEN_FILE; the container's address; the metadata service of EC2.
std::unique_ptr<CredentialFinder> MakeAwsCredentialFinder(const stores::StorageOptions& options);

/// Where AWS is asked, as `options`, their profile or the environment say.
struct AwsEndpoint {
  std::optional<std::string> region;
  std::optional<std::string> endpoint_url;
};
Result<AwsEndpoint> FindAwsEndpoint(const stores::StorageOptions& options);

}  // namespace easydata::credentials
