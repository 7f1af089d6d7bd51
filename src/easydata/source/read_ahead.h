#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "easydata/base/status.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/exec/work_gate.h"

namespace easydata::source {

/// Runs a producer that must go step by step (a decompressor, say) on the pool, up to `depth` items
/// ahead of the consumer. The producer runs on one thread at a time. Next() is for one thread,
/// Cancel() for any. Without a pool Next() runs the producer itself.
template <typename T>
class ReadAhead {
 public:
  using Produce = std::function<Result<std::optional<T>>()>;  // may throw std::bad_alloc

  ReadAhead(std::shared_ptr<exec::ThreadPool> pool, int depth, Produce produce)
      : pool_(std::move(pool)), state_(std::make_shared<State>()) {
    state_->depth = depth;
    state_->produce = std::move(produce);
  }
  ~ReadAhead() { Cancel(); }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The next item, or nothing at the end. An error comes after the items before it.
  Result<std::optional<T>> Next() {
    {
      std::unique_lock<std::mutex> lock(state_->mutex);
      Schedule(&lock);
    }
    {
      exec::WaitScope waiting;
      std::unique_lock<std::mutex> lock(state_->mutex);
      const auto is_done = [&] {
        return !state_->items.empty() || state_->ended || state_->cancelled || !state_->error.ok();
      };
      if (!exec::StopScope::Await(&state_->changed, &lock, is_done)) {
        return Status::Cancelled("reading was interrupted");
      }
    }
    std::unique_lock<std::mutex> lock(state_->mutex);
    if (state_->cancelled) return Status::Cancelled("the stream was closed");
    if (state_->items.empty()) {
      ARROW_RETURN_NOT_OK(state_->error);
      return std::nullopt;
    }
    std::optional<T> item(std::move(state_->items.front()));
    state_->items.pop_front();
    if (pool_ != nullptr) Schedule(&lock);
    return item;
  }

  void Cancel() {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->cancelled = true;
    state_->changed.notify_all();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<T> items;
    Produce produce;
    Status error;
    int depth = 1;
    bool running = false;
    bool ended = false;
    bool cancelled = false;

    bool WantsMore() const {
      return !ended && !cancelled && error.ok() && static_cast<int>(items.size()) < depth;
    }
  };

  void Schedule(std::unique_lock<std::mutex>* lock) {
    if (state_->running || !state_->WantsMore()) return;
    state_->running = true;
    lock->unlock();
    if (pool_ == nullptr) {
      Run(state_.get(), 1);
      lock->lock();
      return;
    }
    // The state lives on in the task: the pool may run it after this object died.
    pool_->Submit([state = state_] { Run(state.get(), std::numeric_limits<int>::max()); });
    lock->lock();
  }

  /// Produces items as long as some are wanted, `most` at most.
  static void Run(State* state, int most) {
    std::unique_lock<std::mutex> lock(state->mutex);
    for (; most > 0 && state->WantsMore(); --most) {
      lock.unlock();
      auto item = exec::CatchExceptions(state->produce);
      lock.lock();
      state->error = exec::CatchExceptions([&]() -> Status {
        ARROW_RETURN_NOT_OK(item.status());
        state->ended = !item->has_value();
        if (!state->ended) state->items.push_back(std::move(**item));
        return Status::OK();
      });
      state->changed.notify_all();
    }
    state->running = false;
  }

  std::shared_ptr<exec::ThreadPool> pool_;
  std::shared_ptr<State> state_;
};

}  // namespace easydata::source
