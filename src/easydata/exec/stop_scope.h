#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

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

  /// Stopped(), or the user interrupted the program (Ctrl-C) and this is the thread that is told of
  /// it: for those that wait long for others. Hold no locks.
  static bool Interrupted() {
    if (Stopped()) return true;
    bool (*const asked)() = listener.load(std::memory_order_relaxed);
    return asked != nullptr && asked();
  }

  /// Waits until `ready()`; false where it was Interrupted() before that.
  template <typename Ready>
  static bool Await(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                    Ready ready) {
    while (!changed->wait_for(*lock, kLook, ready)) {
      lock->unlock();
      const bool is_over = Interrupted();
      lock->lock();
      if (is_over && !ready()) return false;
    }
    return true;
  }

  /// Sets what Interrupted() asks, for the process.
  static void ListenBy(bool (*interrupted)()) { listener = interrupted; }

  /// How often those that wait ask.
  static constexpr std::chrono::milliseconds kLook{50};

  /// Makes Stopped() true on all threads, for good: the process ends.
  static void StopAll() { all = true; }

 private:
  inline static std::atomic<bool> all = false;
  inline static std::atomic<bool (*)()> listener = nullptr;
  inline static thread_local const std::atomic<bool>* current = nullptr;

  const std::atomic<bool>* const outer_;
};

}  // namespace easydata::exec
