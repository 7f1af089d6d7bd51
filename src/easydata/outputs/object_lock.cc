#include "easydata/outputs/object_lock.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/start_thread.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/time_limit.h"
#include "easydata/http/http_object.h"
#include "easydata/http/http_retries.h"

namespace easydata::outputs {
namespace {

using Clock = std::chrono::steady_clock;

/// How often somebody else's lock is looked at.
constexpr std::chrono::milliseconds kWatch{1000};
/// The time that two have who take a lapsed lock over at once, to see which of them it became.
constexpr std::chrono::milliseconds kSettle{2000};

/// The tokens of this process's locks: one that is not among them was left behind, by a job whose
/// store did not answer any more.
class OwnLocks {
 public:
  static void Add(const std::string& token) {
    std::lock_guard<std::mutex> lock(mutex_);
    tokens_.insert(token);
  }
  static void Remove(const std::string& token) {
    std::lock_guard<std::mutex> lock(mutex_);
    tokens_.erase(token);
  }
  static bool Contains(const std::string& token) {
    std::lock_guard<std::mutex> lock(mutex_);
    return tokens_.contains(token);
  }

 private:
  inline static std::mutex mutex_;
  inline static std::set<std::string> tokens_;
};

std::string OwnerOf(const std::string& text) {
  const auto owner = LockOwner::FromText(text);
  return owner.has_value() ? owner->ToString() : "a process that does not say who it is";
}

std::string WholeSeconds(std::chrono::milliseconds time) {
  return std::to_string((time.count() + 999) / 1000) + " s";
}

}  // namespace

ObjectLock::ObjectLock(std::shared_ptr<const stores::ObjectStore> store, std::string uri,
                       std::string output, LockTimes times)
    : store_(std::move(store)),
      uri_(std::move(uri)),
      output_(std::move(output)),
      times_(times),
      owner_(LockOwner::OfThisProcess()) {
  OwnLocks::Add(owner_.token);
}

ObjectLock::~ObjectLock() {
  StopRenewing();
  OwnLocks::Remove(owner_.token);
}

Result<std::unique_ptr<ObjectLock>> ObjectLock::Take(
    std::shared_ptr<const stores::ObjectStore> store, std::string uri, std::string output,
    LockTimes times) {
  std::unique_ptr<ObjectLock> lock(
      new ObjectLock(std::move(store), std::move(uri), std::move(output), times));
  const Status status = lock->TakeAndKeep();
  if (status.ok()) return lock;
  if (lock->is_put_) {
    const exec::TimeLimit limit(kTidyUpLimit);
    (void)lock->Release();
  }
  return status;
}

Status ObjectLock::TakeAndKeep() {
  ARROW_RETURN_NOT_OK(TakeIt());
  ARROW_RETURN_NOT_OK(CheckConditionalWrites());
  return StartRenewing();
}

Status ObjectLock::HeldError(const std::string& text) const {
  return Status::IOError("another process is writing to this output: ", OwnerOf(text),
                         "; wait for it or choose another output path. If it is gone, run this "
                         "again: its lock ",
                         uri_, " lapses ", WholeSeconds(times_.lapse),
                         " after it was last renewed: ", output_);
}

Status ObjectLock::MarkLost(const std::string& how) {
  std::lock_guard<std::mutex> lock(mutex_);
  lost_ = Status::IOError("this process has no longer the lock ", uri_, ": ", how,
                          "; it writes nothing more to ", output_);
  return lost_;
}

Result<std::optional<std::string>> ObjectLock::Read() const {
  auto text = http::ReadHttpObject(*store_, uri_);
  if (text.ok()) return std::optional(std::move(*text));
  if (arrow::internal::ErrnoFromStatus(text.status()) == ENOENT) return std::nullopt;
  return text.status();
}

Status ObjectLock::TakeIt() {
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const auto text, Read());
    if (text.has_value()) return TakeOver(*text);
    is_put_ = true;  // as may be, where there is no answer
    const auto is_ours = store_->PutIfAbsent(uri_, owner_.ToText(0));
    if (is_ours.status().IsNotImplemented()) return store_->Put(uri_, owner_.ToText(0));
    ARROW_RETURN_NOT_OK(is_ours.status());
    if (*is_ours) return Status::OK();
  }
}

Status ObjectLock::TakeOver(const std::string& text) {
  const auto owner = LockOwner::FromText(text);
  if (owner.has_value() && owner->token == owner_.token) return Status::OK();
  const bool is_near = owner.has_value() && owner->IsOfThisMachine();
  const bool is_own = is_near && owner->pid == owner_.pid && owner->started == owner_.started;
  if (is_own ? OwnLocks::Contains(owner->token) : is_near && !owner->IsGone()) {
    return HeldError(text);
  }
  if (!is_near) {
    ARROW_RETURN_NOT_OK(WaitUntilItLapses(text));
    notice_ = "the lock of " + OwnerOf(text) + ", was not renewed for " +
              WholeSeconds(times_.lapse) + ", and is taken over";
  }
  is_put_ = true;
  ARROW_RETURN_NOT_OK(store_->Put(uri_, owner_.ToText(0)));
  if (!is_near) ARROW_RETURN_NOT_OK(http::WaitFor(kSettle));
  ARROW_ASSIGN_OR_RAISE(const auto now, Read());
  return now == owner_.ToText(0) ? Status::OK() : HeldError(now.value_or(text));
}

Status ObjectLock::WaitUntilItLapses(const std::string& text) const {
  const auto until = Clock::now() + times_.lapse;
  while (Clock::now() < until) {
    ARROW_RETURN_NOT_OK(http::WaitFor(std::min(kWatch, times_.renewal)));
    ARROW_ASSIGN_OR_RAISE(const auto now, Read());
    if (!now.has_value()) return Status::OK();  // it has finished
    if (*now != text) return HeldError(*now);
  }
  return Status::OK();
}

/// Finds out whether the store honours conditional writes, whatever it says: puts the lock where it
/// is already.
Status ObjectLock::CheckConditionalWrites() {
  const auto is_put = store_->PutIfAbsent(uri_, owner_.ToText(1));
  renewals_ = 1;
  if (!is_put.ok() && !is_put.status().IsNotImplemented()) return is_put.status();
  if (is_put.ok() && !*is_put) return Status::OK();
  notice_ += std::string(notice_.empty() ? "" : "; ") +
             "the store does not honour conditional writes: of two jobs that begin to write here "
             "at the same moment, neither may notice";
  return Status::OK();
}

Status ObjectLock::StartRenewing() {
  renewed_at_ = Clock::now();
  return exec::CatchExceptions([this] {
    thread_ = exec::StartThread("easydata-lock", [this] { KeepRenewing(); });
    return Status::OK();
  });
}

void ObjectLock::StopRenewing() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ObjectLock::KeepRenewing() {
  const exec::StopScope stopping(&stops_);
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (wake_.wait_for(lock, times_.renewal, [this] { return stops_.load(); })) return;
    }
    // What fails is tried again the next time, and Check() knows how long that went on.
    (void)exec::CatchExceptions([this] { return Renew(); });
  }
}

Status ObjectLock::Renew() {
  ARROW_ASSIGN_OR_RAISE(const auto text, Read());
  const auto owner = LockOwner::FromText(text.value_or(""));
  if (!text.has_value()) return MarkLost("it was deleted");
  if (!owner.has_value() || owner->token != owner_.token) {
    return MarkLost("it was taken over by " + OwnerOf(*text));
  }
  std::unique_lock<std::mutex> lock(mutex_);
  ARROW_RETURN_NOT_OK(lost_);
  const int64_t renewal = ++renewals_;
  lock.unlock();
  ARROW_RETURN_NOT_OK(store_->Put(uri_, owner_.ToText(renewal)));
  lock.lock();
  renewed_at_ = Clock::now();
  return Status::OK();
}

Status ObjectLock::Check() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ARROW_RETURN_NOT_OK(lost_);
    if (Clock::now() - renewed_at_ < times_.lapse / 2) return Status::OK();
  }
  // Soon others may take it over, or have done so while this process was stopped.
  return Renew();
}

Status ObjectLock::Release() {
  StopRenewing();
  ARROW_RETURN_NOT_OK(lost_);
  ARROW_ASSIGN_OR_RAISE(const auto text, Read());
  const auto owner = LockOwner::FromText(text.value_or(""));
  if (!owner.has_value() || owner->token != owner_.token) return Status::OK();
  return store_->Delete(uri_);
}

}  // namespace easydata::outputs
