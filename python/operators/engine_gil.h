#pragma once

#include <cxxabi.h>

#include <memory>
#include <optional>
#include <utility>

#include "easydata/exec/work_gate.h"
#include "operators/python_error.h"

namespace easydata {

/// Takes the GIL on a thread of the engine, unless the interpreter is about to end.
///
/// A thread that asks for the GIL while the interpreter ends is killed by it, and the process with
/// it. At exit those that hold or await the GIL through this class are waited for, though not for
/// ever, and no others are let in.
class EngineGil {
 public:
  EngineGil();
  ~EngineGil();
  EngineGil(const EngineGil&) = delete;
  EngineGil& operator=(const EngineGil&) = delete;

  /// False when the interpreter is ending: Python must not be touched.
  bool held() const { return held_; }

  /// Whether those that hold the GIL should come to an end.
  static bool ending();

  /// Whether this thread took the GIL by this class, below what runs now: it may be one that others
  /// wait for.
  static bool on_engine_thread();

  /// What to return where the GIL is not held.
  static Status Ending() { return Status::Cancelled("the interpreter is ending"); }

  /// Whether this thread is another than the one that ends the interpreter.
  static bool outlived();

  /// Makes the interpreter wait at its exit. Once, at import.
  static void WatchExit();

  /// Lets the engine's long waits on the main thread end by Ctrl-C: they return Cancelled, and
  /// Check() raises what the signal's handler raised. At import; on another thread than the main
  /// one it does nothing.
  static void ListenToSignals();

  /// Gives what the engine has to say while it works (exec::Notify) to Python's logging, as
  /// warnings of "easydata". At import.
  static void LogNotices();

 private:
  exec::WaitScope waiting_;  // Python's work is not the engine's
  bool held_ = false;
  bool taken_ = false;  // by this object
  PyGILState_STATE state_{};
};

/// Lets go of the GIL while the engine works.
///
/// When the interpreter ended meanwhile the thread stops in the destructor, for ever: it could not
/// run Python any more, and what its frames hold is gone.
class WithoutGil {
 public:
  WithoutGil() : WithoutGil(nb::object()) {}
  /// `kept` is what the work uses: Python drops what a thread's frames hold when it ends.
  explicit WithoutGil(nb::object kept);
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  nb::object kept_;
  PyThreadState* state_;
  std::optional<exec::WorkScope> working_;
};

/// What `work` returns, done without the GIL. `kept` is what it uses, as WithoutGil has it.
template <typename Work>
auto WhileOthersRun(nb::object kept, Work work) {
  WithoutGil released(std::move(kept));
  return work();
}
template <typename Work>
auto WhileOthersRun(Work work) {
  return WhileOthersRun(nb::object(), std::move(work));
}

/// Stops this thread for ever.
[[noreturn]] void StopThread();

/// Calls what runs Python code. The interpreter kills threads that come back to it while it ends:
/// then this one stops instead, as being killed would run the destructors of all that called it.
template <typename Function>
auto CallPython(Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const abi::__forced_unwind&) {
    StopThread();
  }
}

/// Imports numpy, once: before nanobind does, whose frames no killed thread can leave.
void EnsureNumpy();

/// Drops a reference to a Python object, on any thread. When the interpreter is ending the object
/// stays.
void DropReference(nb::object* object);

/// Makes a Python object one that any thread may let go of, with or without the GIL. For
/// SharedArgument() alone: the garbage collector does not see such a reference (see lending.h).
std::shared_ptr<nb::object> SharedObject(nb::object object);

/// Keeps the C++ object behind a Python one, as long as any thread holds the result. For types that
/// own no Python objects.
///
/// Take an argument as `nb::handle_t<T>` and call this in place of taking a `std::shared_ptr<T>`:
/// nanobind's lets go of its object by waiting for the GIL in the middle of the engine's work, for
/// which a fork would wait that holds the GIL itself.
template <typename T>
std::shared_ptr<T> SharedArgument(nb::handle_t<T> argument) {
  return {SharedObject(nb::borrow(argument)), nb::cast<T*>(argument)};
}

}  // namespace easydata
