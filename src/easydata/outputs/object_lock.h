#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "easydata/base/status.h"
#include "easydata/outputs/lock_owner.h"
#include "easydata/stores/object_store.h"

namespace easydata::outputs {

/// How long it may take to tidy up after those who did not unlock.
inline constexpr std::chrono::milliseconds kTidyUpLimit{5000};

/// How long a lock holds.
struct LockTimes {
  /// How often its owner renews it.
  std::chrono::milliseconds renewal{10'000};
  /// When it lapses that is not renewed: others watch it for so long.
  std::chrono::milliseconds lapse{30'000};
};

/// Keeps other writers out of an output on a store, by an object that says who writes.
///
/// The object is put on the condition that there is none, where the store honours that. Its owner
/// renews it, on a thread. Who finds it asks whether the owner, if it is a process of the same
/// machine, is still there; else watches whether it is renewed, so that no two clocks are compared.
/// A lock that lapsed, or whose owner is gone, is taken over: a job that was killed goes on where
/// it is run again. One that was stopped for so long, and wakes up, finds that it is its own no
/// more.
class ObjectLock {
 public:
  /// Takes the lock at `uri`, which keeps `output`. An IOError says who has it, and since when.
  static Result<std::unique_ptr<ObjectLock>> Take(std::shared_ptr<const stores::ObjectStore> store,
                                                  std::string uri, std::string output,
                                                  LockTimes times);
  ~ObjectLock();
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;

  /// OK where it is still ours, as we knew a moment ago; else an IOError that says whose it is.
  Status Check();
  /// Gives it up: deletes its object, where that is still ours. Called once.
  Status Release();

  /// What there is to say of how it was taken; "" for nothing.
  const std::string& notice() const { return notice_; }

 private:
  ObjectLock(std::shared_ptr<const stores::ObjectStore> store, std::string uri, std::string output,
             LockTimes times);

  Status TakeAndKeep();
  Status TakeIt();
  Status TakeOver(const std::string& text);
  Status WaitUntilItLapses(const std::string& text) const;
  Status CheckConditionalWrites();
  Status StartRenewing();
  void StopRenewing();
  void KeepRenewing();
  Status Renew();
  Status MarkLost(const std::string& how);
  /// The lock's text; nothing where there is none.
  Result<std::optional<std::string>> Read() const;
  Status HeldError(const std::string& text) const;

  const std::shared_ptr<const stores::ObjectStore> store_;
  const std::string uri_;
  const std::string output_;
  const LockTimes times_;
  const LockOwner owner_;
  std::string notice_;
  std::thread thread_;
  std::atomic<bool> stops_ = false;

  bool is_put_ = false;

  std::mutex mutex_;  // guards what follows; not held by those who wait for the store
  std::condition_variable wake_;
  int64_t renewals_ = 0;
  std::chrono::steady_clock::time_point renewed_at_;
  Status lost_;
};

}  // namespace easydata::outputs
