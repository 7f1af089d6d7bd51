#include "engine_gil.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace easydata {
namespace {

std::atomic<int> inside{0};
std::atomic<bool> ending{false};

}  // namespace

EngineGil::EngineGil() {
  ++inside;
  held_ = !ending;
  if (held_) {
    state_ = PyGILState_Ensure();
  } else {
    --inside;
  }
}

EngineGil::~EngineGil() {
  if (!held_) return;
  PyGILState_Release(state_);
  --inside;
}

void EngineGil::WatchExit() {
  // The threads that were inside do not exist in a forked child.
  pthread_atfork(nullptr, nullptr, [] { inside = 0; });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    ending = true;
    nb::gil_scoped_release release;
    while (inside > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }));
}

}  // namespace easydata
