#include "easydata/exec/start_thread.h"

#include <atomic>

namespace easydata::exec {
namespace {

std::atomic<int> num_threads = 0;
thread_local bool is_counted = false;

// A child has the thread that forked alone.
[[maybe_unused]] const int forgets_others =
    pthread_atfork(nullptr, nullptr, [] { num_threads = is_counted ? 1 : 0; });

}  // namespace

int NumThreads() { return num_threads; }

CountedThread::CountedThread() {
  is_counted = true;
  ++num_threads;
}

CountedThread::~CountedThread() {
  is_counted = false;
  --num_threads;
}

}  // namespace easydata::exec
