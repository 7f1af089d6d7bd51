#include "easydata/exec/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "easydata/exec/start_thread.h"
#include "easydata/exec/work_gate.h"

namespace easydata::exec {

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : static_cast<int>(cores);
}

ThreadPool::ThreadPool(int num_threads, Idle idle)
    : num_threads_(num_threads > 0 ? num_threads : AvailableCores()), idle_(idle) {}

ThreadPool::~ThreadPool() {
  // After a fork the threads exist in the parent only: nothing to join, and their mutex may be
  // locked for ever.
  if (state_ == nullptr || owner_pid_ != getpid()) return;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stop = true;
    state_->tasks.clear();
  }
  state_->wake.notify_all();
  WaitScope waiting;
  for (std::thread& thread : state_->threads) thread.join();
  delete state_;
}

void ThreadPool::AddThread(State* state) {
  state->threads.push_back(
      StartThread("easydata-worker", [state, idle = idle_] { Work(state, idle); }));
}

void ThreadPool::EnsureStarted() {
  std::lock_guard<std::mutex> lock(start_mutex_);
  if (state_ != nullptr && owner_pid_ == getpid()) return;
  auto state = std::make_unique<State>();
  state->threads.reserve(num_threads_);
  try {
    const int first = idle_ == Idle::kWaits ? num_threads_ : 0;
    for (int i = 0; i < first; ++i) AddThread(state.get());
  } catch (const std::system_error&) {
    // Fewer do as well, if more slowly.
    if (state->threads.empty()) throw;
  }
  // A forked child leaves its parent's state alone: it cannot be freed safely.
  state_ = state.release();
  owner_pid_ = getpid();
}

void ThreadPool::Submit(std::function<void()> task) {
  EnsureStarted();
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (idle_ == Idle::kEnds && state_->waiting <= state_->tasks.size() &&
        state_->threads.size() < static_cast<size_t>(num_threads_)) {
      try {
        AddThread(state_);
      } catch (const std::system_error&) {
        if (state_->threads.empty()) throw;
      }
    }
    state_->tasks.push_back(std::move(task));
  }
  state_->wake.notify_one();
}

bool ThreadPool::HasTask(State* state, Idle idle, std::unique_lock<std::mutex>* lock) {
  const auto is_wanted = [&] { return state->stop || !state->tasks.empty(); };
  ++state->waiting;
  bool is_idle = false;
  if (idle == Idle::kWaits) {
    state->wake.wait(*lock, is_wanted);
  } else {
    is_idle = !state->wake.wait_for(*lock, kIdleTime, is_wanted);
  }
  --state->waiting;
  if (is_idle) {
    // Nobody joins it, and it knows nothing of the pool from here on.
    const auto own = std::find_if(
        state->threads.begin(), state->threads.end(),
        [](const std::thread& each) { return each.get_id() == std::this_thread::get_id(); });
    own->detach();
    state->threads.erase(own);
  }
  return !state->tasks.empty();
}

void ThreadPool::Work(State* state, Idle idle) {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock<std::mutex> lock(state->mutex);
      if (!HasTask(state, idle, &lock)) break;
      task = std::move(state->tasks.front());
      state->tasks.pop_front();
    }
    WorkScope working;
    task();
    task = nullptr;  // what it holds is destroyed as part of the work
  }
  WorkScope::UpToThreadEnd();
}

}  // namespace easydata::exec
