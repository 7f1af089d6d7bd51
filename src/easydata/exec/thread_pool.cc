#include "easydata/exec/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <utility>

namespace easydata {

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
  for (std::thread& thread : state_->threads) thread.join();
  delete state_;
}

void ThreadPool::EnsureStarted() {
  std::lock_guard<std::mutex> lock(start_mutex_);
  if (state_ != nullptr && owner_pid_ == getpid()) return;
  state_ = new State;  // a forked child leaves its parent's state alone: it cannot be freed safely
  owner_pid_ = getpid();
  state_->threads.reserve(num_threads_);
  for (int i = 0; i < num_threads_; ++i) state_->threads.emplace_back(Work, state_);
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
      if (state->tasks.empty()) return;
      task = std::move(state->tasks.front());
      state->tasks.pop_front();
    }
    task();
  }
}

}  // namespace easydata
