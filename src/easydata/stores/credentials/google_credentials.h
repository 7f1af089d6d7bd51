#pragma once

#include <memory>

#include "easydata/stores/credentials/credential_cache.h"
#include "easydata/stores/storage_options.h"

namespace easydata::credentials {

/// Google: what `options` say (a token, a file, anonymous); GOOGLE_APPLICATION_CREDENTIALS; the
/// file that `gcloud auth application-default login` writes; the metadata server of Compute Engine.
std::unique_ptr<CredentialFinder> MakeGoogleCredentialFinder(const stores::StorageOptions& options);

}  // namespace easydata::credentials
