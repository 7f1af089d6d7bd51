#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "easydata/base/status.h"
#include "easydata/loader/batch_assembler.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::loader {

/// Four times as long as a Python thread may hold the GIL. More would only spread the batches over
/// more memory than the processor's caches hold.
constexpr std::chrono::milliseconds kLongestBurst{20};

struct LoaderOptions {
  static constexpr const char* kNodes[] = {"loader"};

  StepOptions steps;
  /// Reads ahead on a thread of its own, as far as the bounds below allow.
  bool prefetch = true;
  /// Where batches are taken in bursts, as many more as kLongestBurst makes.
  int64_t prefetch_batches = 4;
  int64_t prefetch_bytes = int64_t{256} << 20;
  /// Worker threads; 0 for one a core.
  int32_t num_threads = 0;

  static constexpr const char* kOneACore = " (None: one for each core)";

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const {
    steps.Check(path, problems);
  }
};

/// How many batches, and bytes, are ready to be taken.
struct QueueFill {
  int64_t batches = 0;
  int64_t bytes = 0;
};

/// Makes batches ahead, on a thread of its own where prefetching is on. One thread takes them;
/// Cancel() and the stats are for any.
class BatchProducer {
 public:
  /// Begins at `position`; steps before `first_step` are read and passed over.
  BatchProducer(const StreamPlan& plan, const std::shared_ptr<exec::ThreadPool>& pool,
                const LoaderOptions& options, const LoaderPosition& position,
                int64_t first_step = 0);
  ~BatchProducer();
  BatchProducer(const BatchProducer&) = delete;
  BatchProducer& operator=(const BatchProducer&) = delete;

  /// Waits until Take() has something to give: true, or false after `timeout`. Without prefetching
  /// the batch is made here, however long that takes.
  bool Wait(std::chrono::steady_clock::duration timeout);
  /// The next batch, the end of a pass or an error.
  Result<Assembled> Take();
  /// The next batch if there is one; waits for nothing and ends no thread.
  std::optional<Assembled> TryTake();
  /// The batch that TryTake() would give, which stays where it is.
  std::optional<LoaderBatch> TryPeek();
  void Cancel();

  /// Those of the stages, and under "trainer" the time for which the queue was full.
  StageStats stats();
  QueueFill queue();

 private:
  using Clock = std::chrono::steady_clock;

  Result<Assembled> Make();
  void Run();
  /// Takes the front of the queue; the lock is held where prefetching is on.
  Result<Assembled> Pop();
  /// Whether a batch comes next, and is ready; the lock is held.
  bool HasBatch() const {
    return !queue_.empty() && queue_.front().ok() && queue_.front()->batch.has_value();
  }
  /// Whether there is no room for another batch, assumed to be as large as the last one.
  bool full() const {
    return static_cast<int64_t>(queue_.size()) >= ahead_ ||
           queued_bytes_ + last_bytes_ > options_.prefetch_bytes;
  }
  /// Called with the lock held where batches are asked for. A queue that was full and is empty now
  /// was too short: batches are taken in bursts, as beside a Python thread that holds the GIL for
  /// 5 ms at a time.
  void NoticeBurst();

  const LoaderOptions options_;
  BatchAssembler assembler_;
  std::mutex mutex_;  // where prefetching is on
  std::condition_variable changed_;
  std::deque<Result<Assembled>> queue_;
  int64_t queued_bytes_ = 0;
  int64_t last_bytes_ = 0;  // of the batch made last
  int64_t ahead_;           // batches that may be ready
  bool filled_ = false;     // the queue was full since it was empty last
  Clock::duration pace_{};  // that a batch takes, as of late
  bool stop_ = false;
  StageStats stats_;
  double full_seconds_ = 0;
  Clock::time_point looked_{};
  std::optional<double> read_share_;  // when it looked
  std::thread thread_;
};

}  // namespace easydata::loader
