#include "easydata/stores/credentials/credential_cache.h"

#include <cerrno>
#include <mutex>

#include "easydata/http/server_error.h"

namespace easydata::credentials {
namespace {

using SystemClock = std::chrono::system_clock;

constexpr std::chrono::minutes kBeforeExpiry{5};

bool IsSame(const MaybeCredentials& a, const MaybeCredentials& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
  return a->key == b->key && a->secret == b->secret && a->token == b->token;
}

}  // namespace

Status CredentialError(const std::string& message) { return http::ServerError(EACCES, message); }

Result<MaybeCredentials> CredentialCache::Get() {
  Lock();
  std::lock_guard<exec::ForkableMutex> lock(mutex_, std::adopt_lock);
  const bool is_old = found_.has_value() && found_->expires != SystemClock::time_point::max() &&
                      SystemClock::now() + kBeforeExpiry > found_->expires;
  if (is_found_ && !is_old) return found_;
  if (!is_found_) return FindLocked();
  // Those that hold for less than five minutes are asked for once a second at most, and the old
  // ones are of use until they expire.
  if (std::chrono::steady_clock::now() - found_at_ < std::chrono::seconds(1)) return found_;
  auto found = FindLocked();
  if (!found.ok() && SystemClock::now() < found_->expires) return found_;
  return found;
}

Result<bool> CredentialCache::Renew(const MaybeCredentials& refused) {
  Lock();
  std::lock_guard<exec::ForkableMutex> lock(mutex_, std::adopt_lock);
  // Another thread may have been here first.
  if (is_found_ && !IsSame(found_, refused)) return true;
  ARROW_ASSIGN_OR_RAISE(const auto found, FindLocked());
  return !IsSame(found, refused);
}

void CredentialCache::Lock() {
  if (mutex_.try_lock()) return;
  // Who has it may wait for a service, and lets forks happen meanwhile.
  exec::WaitScope waiting;
  mutex_.lock();
}

Result<MaybeCredentials> CredentialCache::FindLocked() {
  found_at_ = std::chrono::steady_clock::now();
  ARROW_ASSIGN_OR_RAISE(auto found, finder_->Find());
  is_found_ = true;
  found_ = std::move(found);
  return found_;
}

}  // namespace easydata::credentials
