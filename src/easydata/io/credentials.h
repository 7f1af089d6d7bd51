#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "easydata/base/status.h"
#include "easydata/exec/work_gate.h"
#include "easydata/io/storage_options.h"

namespace easydata::io {

/// What proves who asks, as long as it holds.
struct Credentials {
  std::string key = {};     // AWS: the access key
  std::string secret = {};  // AWS: the secret key
  std::string token = {};   // AWS: the session token, if any; Google: the access token
  std::chrono::system_clock::time_point expires = std::chrono::system_clock::time_point::max();
};

/// Finds credentials where a platform keeps them. Called by one thread at a time.
class CredentialFinder {
 public:
  virtual ~CredentialFinder() = default;
  /// Finds them anew; nothing for those who ask without. An IOError (EACCES) says where they were
  /// looked for, and what to do.
  virtual Result<std::optional<Credentials>> Find() = 0;
};

/// Keeps credentials: finds them when they are first wanted, again five minutes before they expire,
/// and where a store refused them. Thread-safe.
class CredentialCache {
 public:
  explicit CredentialCache(std::unique_ptr<CredentialFinder> finder) : finder_(std::move(finder)) {}

  Result<std::optional<Credentials>> Get();

  /// Finds others in place of those that a store refused; false where the same are found.
  Result<bool> Renew(const std::optional<Credentials>& refused);

 private:
  void Lock();
  Result<std::optional<Credentials>> FindLocked();

  exec::ForkableMutex mutex_;
  const std::unique_ptr<CredentialFinder> finder_;
  bool is_found_ = false;
  std::optional<Credentials> found_;
  std::chrono::steady_clock::time_point found_at_;
};

/// AWS: what `options` say; AWS_ACCESS_KEY_ID and its like; the profile in the files of the AWS
/// command line (keys, credential_process, a role, SSO by that command);
/// AWS_WEB_IDENTITY_TOKEN_FILE; the container's address; the metadata service of EC2.
std::unique_ptr<CredentialFinder> MakeAwsCredentialFinder(const StorageOptions& options);

/// What the profile of `options`, or the environment, says of where to ask.
struct AwsPlace {
  std::optional<std::string> region;
  std::optional<std::string> endpoint_url;
};
Result<AwsPlace> FindAwsPlace(const StorageOptions& options);

/// Google: what `options` say (a token, a file, anonymous); GOOGLE_APPLICATION_CREDENTIALS; the
/// file that `gcloud auth application-default login` writes; the metadata server of Compute Engine.
std::unique_ptr<CredentialFinder> MakeGoogleCredentialFinder(const StorageOptions& options);

}  // namespace easydata::io
