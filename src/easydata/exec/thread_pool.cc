#include "easydata/exec/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <memory>
#include <system_error>
#include <utility>

#include "easydata/exec/work_gate.h"

namespace easydata::exec {

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : static_cast<int>(cores);
}

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(num_threads > 0 ? num_threads : AvailableCores()) {}

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

void ThreadPool::EnsureStarted() {
  std::lock_guard<std::mutex> lock(start_mutex_);
  if (state_ != nullptr && owner_pid_ == getpid()) return;
  auto state = std::make_unique<State>();
  state->threads.reserve(num_threads_);
  try {
    for (int i = 0; i < num_threads_; ++i) state->threads.emplace_back(Work, state.get());
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
    state_->tasks.push_back(std::move(task));
  }
  state_->wake.notify_one();
}

void ThreadPool::Work(State* state) {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock<std::mutex> lock(state->mutex);
      state->wake.wait(lock, [&] { return state->stop || !state->tasks.empty(); });
      if (state->tasks.empty()) break;
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
