#pragma once

#include <atomic>

namespace easydata::exec {

/// Tells the work of a thread that it is no longer wanted: long work checks Stopped() now and then,
/// and returns Cancelled.
class StopScope {
 public:
  /// While it lives, Stopped() on this thread returns `stop`.
  explicit StopScope(const std::atomic<bool>* stop) : outer_(current) { current = stop; }
  ~StopScope() { current = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  /// False where no work with a StopScope runs on this thread.
  static bool Stopped() {
    return all.load(std::memory_order_relaxed) || (current != nullptr && *current);
  }

  /// Makes Stopped() true on all threads, for good: the process ends.
  static void StopAll() { all = true; }

 private:
  inline static std::atomic<bool> all = false;
  inline static thread_local const std::atomic<bool>* current = nullptr;

  const std::atomic<bool>* const outer_;
};

}  // namespace easydata::exec
