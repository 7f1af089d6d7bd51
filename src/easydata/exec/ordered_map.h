#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "easydata/base/status.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/exec/work_gate.h"

namespace easydata::exec {

/// Applies a function to numbered items in parallel and hands the results out in the items' order.
///
/// The caller's thread pulls the items (in Next()), the pool's workers run the function. At most
/// `max_in_flight` items are pulled ahead of the result handed out last. The output is a function
/// of the input alone, whatever the number of workers. The first error in item order is returned
/// after all results before it, and again by every later call; exceptions are errors
/// (CatchExceptions()). Next() is for one thread; Cancel() for any.
template <typename In, typename Out>
class OrderedMap {
 public:
  using Pull = std::function<Result<std::optional<In>>()>;
  using Function = std::function<Result<Out>(In)>;

  OrderedMap(std::shared_ptr<ThreadPool> pool, int max_in_flight, Pull pull, Function function)
      : pool_(std::move(pool)),
        max_in_flight_(max_in_flight),
        pull_(std::move(pull)),
        shared_(std::make_shared<Shared>()) {
    shared_->function = std::move(function);
  }

  /// Waits for the running tasks, which may use what the owner is about to destroy.
  ~OrderedMap() {
    Cancel();
    Drain();
  }
  OrderedMap(const OrderedMap&) = delete;
  OrderedMap& operator=(const OrderedMap&) = delete;

  /// Returns the next result in item order, or nothing after the last one.
  Result<std::optional<Out>> Next() {
    ARROW_RETURN_NOT_OK(failed_);
    auto result = CatchExceptions([this] { return DoNext(); });
    if (!result.ok()) {
      failed_ = result.status();
      // The results after the error are of no use.
      shared_->cancelled = true;
      Drain();
    }
    return result;
  }

  /// Makes a blocked or future Next() return Cancelled soon; running tasks end by themselves, early
  /// where they look at StopScope::Stopped().
  void Cancel() {
    shared_->cancelled = true;
    std::lock_guard<std::mutex> lock(shared_->mutex);
    shared_->done.notify_all();
  }

 private:
  struct Task {
    std::optional<Result<Out>> result;
  };
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    std::atomic<bool> cancelled{false};
    int running = 0;
    Function function;
  };

  Result<std::optional<Out>> DoNext() {
    while (!ended_ && pull_error_.ok() && static_cast<int>(tasks_.size()) < max_in_flight_) {
      if (shared_->cancelled) return Status::Cancelled("the stream was closed");
      // An error here comes out after the results of all items that were pulled before.
      pull_error_ = CatchExceptions([this]() -> Status {
        ARROW_ASSIGN_OR_RAISE(auto item, pull_());
        ended_ = !item.has_value();
        if (!ended_) Start(std::move(*item));
        return Status::OK();
      });
    }
    if (tasks_.empty()) {
      ARROW_RETURN_NOT_OK(pull_error_);
      return std::nullopt;
    }
    std::shared_ptr<Task> task = tasks_.front();
    {
      WaitScope waiting;
      std::unique_lock<std::mutex> lock(shared_->mutex);
      const auto is_done = [&] { return task->result.has_value() || shared_->cancelled; };
      if (!StopScope::Await(&shared_->done, &lock, is_done)) {
        return Status::Cancelled("reading was interrupted");
      }
    }
    if (shared_->cancelled) return Status::Cancelled("the stream was closed");
    tasks_.pop_front();
    ARROW_ASSIGN_OR_RAISE(Out out, std::move(*task->result));
    return std::optional<Out>(std::move(out));
  }

  void Start(In item) {
    auto task = std::make_shared<Task>();
    auto input = std::make_shared<In>(std::move(item));
    {
      std::lock_guard<std::mutex> lock(shared_->mutex);
      ++shared_->running;
    }
    // A task dropped by a dying pool must still count as ended: the guard does that.
    auto guard = std::shared_ptr<void>(nullptr, [shared = shared_](void*) {
      std::lock_guard<std::mutex> lock(shared->mutex);
      --shared->running;
      shared->done.notify_all();
    });
    std::shared_ptr<Task> started = task;
    // The guard is captured first, so that it dies last also where the pool drops the task.
    pool_->Submit([guard = std::move(guard), shared = shared_, task, input]() mutable {
      if (!shared->cancelled) {
        StopScope scope(&shared->cancelled);
        Result<Out> result = CatchExceptions([&] { return shared->function(std::move(*input)); });
        input.reset();
        std::lock_guard<std::mutex> lock(shared->mutex);
        task->result.emplace(std::move(result));
      }
      // Freed before the task counts as ended: the map's owner may be destroyed right after that.
      input.reset();
      task.reset();
      guard.reset();
    });
    tasks_.push_back(std::move(started));
  }

  void Drain() {
    WaitScope waiting;
    std::unique_lock<std::mutex> lock(shared_->mutex);
    shared_->done.wait(lock, [&] { return shared_->running == 0; });
    lock.unlock();
    tasks_.clear();
  }

  std::shared_ptr<ThreadPool> pool_;
  const int max_in_flight_;
  Pull pull_;
  std::shared_ptr<Shared> shared_;
  std::deque<std::shared_ptr<Task>> tasks_;
  bool ended_ = false;
  Status pull_error_;
  Status failed_;
};

}  // namespace easydata::exec
