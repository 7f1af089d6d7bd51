#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "easydata/base/status.h"
#include "easydata/exec/work_gate.h"
#include "easydata/loader/batch_producer.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::loader {

/// The positions that a loader knows: a search for a step begins at one of them.
struct KnownPositions {
  LoaderPosition current;     // that of the batch handed out last
  LoaderPosition pass_start;  // of the current pass, as far as it is known
  LoaderPosition loaded;      // where the loader began
  int64_t edited_step = 0;    // where the mix was edited last; 0: nowhere
};

/// Finds the batch of any step of a stream, with a reader of its own.
///
/// Thread-safe: searches run side by side, and none holds a lock while it reads. A forked child
/// leaves the searches of its parent alone.
class StepFinder {
 public:
  StepFinder(StreamPlan plan, LoaderOptions options);
  StepFinder(const StepFinder&) = delete;
  StepFinder& operator=(const StepFinder&) = delete;

  /// IndexError where no stream has such a step.
  Status CheckStep(int64_t step) const;

  /// The batch of a step, and the number of steps with it; or none, and the number of all steps.
  struct Found {
    std::optional<LoaderBatch> batch;
    int64_t steps = 0;
  };
  /// Finds a step that CheckStep() lets pass, up to the end of the pass that the loader is in:
  /// without reading where that can be, else by reading from the nearest known position on.
  ///
  /// Works in `pool`, or in one of its own where there is none. `interrupted`, which may be empty,
  /// is called every 50 ms on the calling thread, without a lock; when it returns true, or after
  /// Cancel(), Cancelled.
  Result<Found> Find(int64_t step, const KnownPositions& known,
                     std::shared_ptr<exec::ThreadPool> pool,
                     const std::function<bool()>& interrupted);

  /// Stops all searches, also those that begin later; waits for none of them.
  void Cancel();

 private:
  using Interrupted = std::function<bool()>;

  /// Invalid where the step, or all that leads to it, is of a mix before the last edit.
  static Status CheckEdit(int64_t step, const LoaderPosition& from, int64_t edited_step);
  /// The known position from which reading gets to a step soonest.
  LoaderPosition Nearest(int64_t step, const KnownPositions& known) const;
  /// The position of a step, found without reading, where that can be; `start` is the start of a
  /// pass at or before it.
  Result<std::optional<LoaderPosition>> Seek(int64_t step, const LoaderPosition& start,
                                             const std::shared_ptr<exec::ThreadPool>& pool,
                                             const Interrupted& interrupted);
  /// Reads from `from` up to a step, or up to the start of pass number `end`.
  Result<Found> ReadUpTo(int64_t step, LoaderPosition from, int64_t end,
                         const std::shared_ptr<exec::ThreadPool>& pool,
                         const Interrupted& interrupted);
  /// Adds a reader to those that Cancel() stops; it is removed before it is destroyed.
  void AddReader(BatchProducer* reader);
  void RemoveReader(BatchProducer* reader);
  /// Leaves the readers of the parent process alone. Called with the lock held.
  void NoticeFork();

  const StreamPlan plan_;
  const LoaderOptions options_;
  std::atomic<bool> cancelled_{false};
  // Guards what follows; no other lock is taken under it but a reader's.
  exec::ForkableMutex mutex_;
  std::set<BatchProducer*> readers_;
  uint64_t forks_;  // before the process that made the readers
};

}  // namespace easydata::loader
