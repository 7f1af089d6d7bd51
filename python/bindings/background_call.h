#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "bindings.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/start_thread.h"
#include "easydata/exec/work_gate.h"
#include "operators/engine_gil.h"

namespace easydata {

/// Runs a long call on a thread of its own, so that the calling one can listen for signals.
template <typename T>
class BackgroundCall {
 public:
  /// Starts `work`; `cancel` makes it return soon, and is called where its result is not waited
  /// for.
  BackgroundCall(std::function<Result<T>()> work, std::function<void()> cancel)
      : cancel_(std::move(cancel)) {
    thread_ = exec::StartThread("easydata-call", [this, work = std::move(work)] {
      auto result = [&] {
        exec::WorkScope working;
        return exec::CatchExceptions(work);
      }();
      std::lock_guard<std::mutex> lock(mutex_);
      result_ = std::move(result);
      done_.notify_all();
    });
  }

  /// Ends the call where it still goes on.
  ~BackgroundCall() {
    if (!thread_.joinable()) return;
    WithoutGil released;
    cancel_();
    exec::WaitScope waiting;
    thread_.join();
  }

  /// True when the call has ended; waits for that a moment. Raises where Ctrl-C was pressed.
  bool Wait() {
    if (WaitForIt()) return true;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return false;
  }

  /// What it returned; called once.
  Result<T> Join() {
    WithoutGil released;
    exec::WaitScope waiting;
    thread_.join();
    return std::move(*result_);
  }

 private:
  // How often the calling thread looks for Ctrl-C.
  static constexpr auto kPoll = std::chrono::milliseconds(50);

  bool WaitForIt() {
    WithoutGil released;
    exec::WaitScope waiting;
    std::unique_lock<std::mutex> lock(mutex_);
    return done_.wait_for(lock, kPoll, [this] { return result_.has_value(); });
  }

  const std::function<void()> cancel_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<Result<T>> result_;
  std::thread thread_;
};

}  // namespace easydata
