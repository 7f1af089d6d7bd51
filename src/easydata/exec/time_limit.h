#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "easydata/exec/stop_scope.h"

namespace easydata::exec {

/// While it lives, the work of this thread is no longer wanted (StopScope) when the time is over,
/// and not before that, whatever was stopped already: for what tidies up after stopped work.
class TimeLimit {
 public:
  /// Without a thread to watch the clock, which the system may refuse, the time is over at once.
  explicit TimeLimit(std::chrono::milliseconds time);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread watch_;
  StopScope scope_{&is_over_};
};

}  // namespace easydata::exec
