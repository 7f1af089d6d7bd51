#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace easydata::exec {

/// How long threads that serve the whole process have nothing to do before they end.
constexpr std::chrono::milliseconds kIdleTime{2000};

/// Runs tasks on a fixed number of worker threads, in the order in which they were submitted.
///
/// Threads start with the first task, never before, and end in the destructor, which waits for
/// running tasks and drops those that have not started. A process that forked gets new threads with
/// its first task. Where the system gives fewer threads there are fewer; where it gives none,
/// Submit() throws std::system_error. Thread-safe.
class ThreadPool {
 public:
  /// What becomes of threads without a task: they wait for the next one; or end after kIdleTime,
  /// and start one by one as tasks need them, for a pool that lives as long as the process.
  enum class Idle { kWaits, kEnds };

  /// Makes a pool of `num_threads` workers; 0 means one per core that this process may use.
  explicit ThreadPool(int num_threads = 0, Idle idle = Idle::kWaits);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Runs `task` on a worker. The task must not throw (CatchExceptions()) and must not wait
  /// for another task.
  void Submit(std::function<void()> task);

  int num_threads() const { return num_threads_; }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::function<void()>> tasks;
    bool stop = false;
    std::vector<std::thread> threads;
    size_t waiting = 0;  // threads
  };

  static void Work(State* state, Idle idle);
  static bool HasTask(State* state, Idle idle, std::unique_lock<std::mutex>* lock);
  void AddThread(State* state);
  void EnsureStarted();

  const int num_threads_;
  const Idle idle_;
  std::mutex start_mutex_;
  State* state_ = nullptr;
  int owner_pid_ = 0;
};

/// Number of cores this process may run on, at least 1.
int AvailableCores();

}  // namespace easydata::exec
