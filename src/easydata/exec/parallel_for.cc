#include "easydata/exec/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/start_thread.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/work_gate.h"

namespace easydata::exec {
namespace {

/// What the threads of one call share.
class Calls {
 public:
  Calls(size_t count, const std::function<Status(size_t)>& work)
      : count_(count), failed_(count), work_(work) {}

  void Run() {
    for (size_t i; (i = next_.fetch_add(1)) < count_;) {
      WorkScope::LetForksIn();
      Status status = StopScope::Stopped() ? Status::Cancelled("the process is ending")
                                           : CatchExceptions([&] { return work_(i); });
      if (status.ok()) continue;
      next_ = count_;
      std::lock_guard<std::mutex> lock(mutex_);
      if (i < failed_) {
        failed_ = i;
        status_ = std::move(status);
      }
    }
  }

  Status TakeStatus() { return std::move(status_); }

 private:
  const size_t count_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  size_t failed_;
  Status status_;
  const std::function<Status(size_t)>& work_;
};

}  // namespace

Status ParallelFor(size_t count, int num_threads, const std::function<Status(size_t)>& work) {
  WorkScope working;
  Calls calls(count, work);
  const size_t limit = std::min(count, static_cast<size_t>(std::max(num_threads, 1)));
  std::vector<std::thread> threads;
  threads.reserve(limit);
  try {
    while (threads.size() + 1 < limit) {
      threads.push_back(StartThread("easydata-worker", [&] {
        WorkScope::UpToThreadEnd();
        calls.Run();
      }));
    }
  } catch (const std::system_error&) {
    // The threads that there are do the work.
  }
  calls.Run();
  WaitScope waiting;
  for (std::thread& thread : threads) thread.join();
  return calls.TakeStatus();
}

}  // namespace easydata::exec
