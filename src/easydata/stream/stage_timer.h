#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "easydata/base/status.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Adds the seconds from its making to its end to a number, less those of the timers that begin and
/// end in between on the same thread: what a stage takes, without its upstream.
///
/// Reads the clock twice; meant for once a batch, not once a row.
class StageTimer {
 public:
  explicit StageTimer(double* seconds);
  ~StageTimer();
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  double* const seconds_;
  StageTimer* const outer_;
  Clock::duration inner_{};
  const Clock::time_point begin_;
};

/// Adds up the seconds of worker threads by kind of work. Thread-safe.
class BusyTimes {
 public:
  void Add(const std::string& what, std::chrono::steady_clock::duration time);
  std::map<std::string, double> seconds() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, double> seconds_;
};

/// `stage`, with the seconds in its Next() under `name` in its stats().wait_seconds.
Result<std::unique_ptr<Stage>> Timed(Result<std::unique_ptr<Stage>> stage, std::string name);

}  // namespace easydata
