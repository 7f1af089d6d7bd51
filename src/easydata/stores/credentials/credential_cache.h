#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "easydata/base/status.h"
#include "easydata/exec/work_gate.h"
#include "easydata/http/credentials.h"

namespace easydata::credentials {

/// Credentials; nothing for those who ask without.
using MaybeCredentials = std::optional<http::Credentials>;

/// The error of credentials that are not found, or of no use: an IOError (EACCES).
Status CredentialError(const std::string& message);

/// Finds credentials where a platform keeps them. Called by one thread at a time.
class CredentialFinder {
 public:
  virtual ~CredentialFinder() = default;
  /// Finds them anew. A CredentialError() says where they were looked for, and what to do.
  virtual Result<MaybeCredentials> Find() = 0;
};

/// Keeps credentials: finds them when they are first wanted, again five minutes before they expire,
/// and where a store refused them. Thread-safe.
class CredentialCache {
 public:
  explicit CredentialCache(std::unique_ptr<CredentialFinder> finder) : finder_(std::move(finder)) {}

  Result<MaybeCredentials> Get();

  /// Finds others in place of those that a store refused; false where the same are found.
  Result<bool> Renew(const MaybeCredentials& refused);

 private:
  void Lock();
  Result<MaybeCredentials> FindLocked();

  exec::ForkableMutex mutex_;
  const std::unique_ptr<CredentialFinder> finder_;
  bool is_found_ = false;
  MaybeCredentials found_;
  std::chrono::steady_clock::time_point found_at_;
};

}  // namespace easydata::credentials
