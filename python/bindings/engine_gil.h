#pragma once

#include "bindings.h"

namespace easydata {

/// Takes the GIL on a thread of the engine, unless the interpreter is about to end.
///
/// A thread that asks for the GIL while the interpreter ends is killed by it, and the process with
/// it. At exit those that hold or await the GIL through this class are waited for, and no others
/// are let in.
class EngineGil {
 public:
  EngineGil();
  ~EngineGil();
  EngineGil(const EngineGil&) = delete;
  EngineGil& operator=(const EngineGil&) = delete;

  /// False when the interpreter is ending: Python must not be touched.
  bool held() const { return held_; }

  /// What to return where the GIL is not held.
  static Status Ending() { return Status::Cancelled("the interpreter is ending"); }

  /// Makes the interpreter wait at its exit. Once, at import.
  static void WatchExit();

 private:
  bool held_;
  PyGILState_STATE state_{};
};

}  // namespace easydata
