#include "operators/engine_gil.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "easydata/exec/notice.h"
#include "easydata/exec/stop_scope.h"
#include "operators/limited_api.h"

namespace easydata {
namespace {

// How long the end of the process waits for Python code that runs on threads of the engine, and for
// the engine's own work.
constexpr std::chrono::seconds kLongestCallable{5};
constexpr std::chrono::milliseconds kLongestWork{500};

std::atomic<int> inside{0};
std::atomic<bool> is_ending{false};
std::thread::id ending_thread;  // once is_ending
std::thread::id main_thread;    // Python's, which alone runs signal handlers
thread_local int own_inside = 0;

void WaitForCallables() {
  ending_thread = std::this_thread::get_id();
  is_ending = true;
  WithoutGil released;
  exec::WaitScope waiting;
  const auto deadline = std::chrono::steady_clock::now() + kLongestCallable;
  while (inside > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Runs the signal handlers that wait to be run; whether one of them raised, which stays set.
bool IsInterrupted() {
  if (std::this_thread::get_id() != main_thread || is_ending) return false;
  EngineGil gil;
  return gil.held() && (PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0);
}

/// The interpreter is gone; what is static in the engine and in Arrow goes next.
void EndWork() {
  if (exec::EndAllWork(kLongestWork)) return;
  // Something still runs that would use what is gone.
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
}

}  // namespace

EngineGil::EngineGil() {
  if (!nb::is_alive() || Py_IsInitialized() == 0) return;
  if (PyGILState_Check() == 1) {
    held_ = true;
    return;
  }
  ++inside;
  if (is_ending) {
    --inside;
    return;
  }
  ++own_inside;
  state_ = CallPython([] { return PyGILState_Ensure(); });
  held_ = taken_ = true;
}

EngineGil::~EngineGil() {
  if (!taken_) return;
  PyGILState_Release(state_);
  --own_inside;
  --inside;
}

bool EngineGil::ending() { return is_ending; }

bool EngineGil::on_engine_thread() { return own_inside > 0; }

bool EngineGil::outlived() { return is_ending && std::this_thread::get_id() != ending_thread; }

void EngineGil::WatchExit() {
  // The other threads that were inside do not exist in a forked child.
  pthread_atfork(nullptr, nullptr, [] { inside = own_inside; });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&WaitForCallables));
  Py_AtExit(&EndWork);
  // What kills a thread comes to nanobind as an exception that is none; see CallPython().
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    if (error == nullptr) StopThread();
    std::rethrow_exception(error);
  });
}

void EngineGil::ListenToSignals() {
  const nb::object ident = nb::module_::import_("threading").attr("main_thread")().attr("ident");
  if (nb::cast<unsigned long>(ident) != PyThread_get_thread_ident()) return;
  main_thread = std::this_thread::get_id();
  exec::StopScope::ListenBy(IsInterrupted);
}

void EngineGil::LogNotices() {
  exec::ListenToNotices([](const std::string& message) noexcept {
    EngineGil gil;
    if (!gil.held()) return;
    nb::error_scope before;  // what was raised is another matter
    try {
      CallPython([&] {
        return nb::module_::import_("logging")
            .attr("getLogger")("easydata")
            .attr("warning")("%s", message);
      });
    } catch (nb::python_error& error) {
      // As logging does itself where a handler fails: the work goes on.
      error.discard_as_unraisable("a warning of easydata");
    }
  });
}

WithoutGil::WithoutGil(nb::object kept) : kept_(std::move(kept)), state_(PyEval_SaveThread()) {
  working_.emplace();
}

WithoutGil::~WithoutGil() {
  working_.reset();
  CallPython([this] { PyEval_RestoreThread(state_); });
}

void StopThread() {
  for (;;) pause();
}

void EnsureNumpy() {
  static bool imported = false;  // guarded by the GIL
  if (imported) return;
  CallPython([] { return nb::module_::import_("numpy"); });
  imported = true;
}

void DropReference(nb::object* object) {
  EngineGil gil;
  if (gil.held()) {
    object->reset();
  } else {
    (void)object->release();
  }
}

std::shared_ptr<nb::object> SharedObject(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            DropReference(held);
            delete held;
          }};
}

}  // namespace easydata
