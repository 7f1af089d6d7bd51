#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "easydata/base/status.h"
#include "easydata/loader/batch_assembler.h"
#include "easydata/stream/stage.h"

namespace easydata {

struct LoaderOptions {
  StepOptions steps;
  /// A thread of its own reads ahead, as far as the bounds below allow.
  bool prefetch = true;
  int64_t prefetch_batches = 4;
  int64_t prefetch_bytes = int64_t{256} << 20;
  /// Worker threads; 0 for one a core.
  int num_threads = 0;
};

/// What a loader has done since it was made.
struct LoaderStats {
  int64_t rows = 0;  // of this rank
  int64_t batches = 0;
  int64_t bytes_read = 0;
  double seconds = 0;  // since the first batch was asked for
  std::map<std::string, double> wait_seconds;
  /// Not since the loader was made, but of the stream up to here.
  TokenCounts counts;
  int64_t epoch = 0;
};

/// Hands out a stream in steps of `batch_size` rows, this rank's share of them, pass after pass.
///
/// The position is that of the batch handed out last, whatever was read ahead. Thread-safe; batches
/// go to whoever asks first. A forked child goes on from the position at the fork with threads of
/// its own.
class Loader {
 public:
  /// Invalid where an option is wrong, naming it.
  static Result<std::unique_ptr<Loader>> Make(StreamPlan plan, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Waits until Take() has something to give: true, or false after about `seconds` without.
  /// Without prefetching the batch is made here, however long it takes.
  bool Wait(double seconds);

  /// The next batch, or nothing at the end of a pass; the call after that begins the next pass.
  /// Waits as it must. After an error every call returns the same error, until a state is loaded.
  Result<std::optional<LoaderBatch>> Take();

  /// The position as JSON: versioned, with the plan's fingerprint; small, whatever the step.
  nlohmann::json SaveState();
  /// Goes on from a saved position; Invalid where it is of another stream, naming the first
  /// difference.
  Status LoadState(const nlohmann::json& state);

  LoaderStats stats();
  /// See RowDigest(): of the rows that this loader handed out since it was made.
  uint64_t digest();

  /// Stops all work and ends every thread; what was handed out stays valid. Later calls of Take()
  /// fail.
  void Close();
  bool closed() const { return closed_; }

 private:
  class Producer;
  Loader(StreamPlan plan, LoaderOptions options);

  void EnsureProducer();
  void DropProducer();
  /// Leaves the threads and locks of the parent process alone.
  void NoticeFork();

  const StreamPlan plan_;
  const LoaderOptions options_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;           // held while a batch is taken
  std::mutex producer_mutex_;  // guards producer_ against Close()
  std::unique_ptr<Producer> producer_;
  std::shared_ptr<ThreadPool> pool_;
  int pid_;
  Status failed_;
  LoaderPosition position_;
  TokenCounts counts_;
  uint64_t digest_ = 0;
  LoaderStats stats_;
  StageStats stage_stats_;  // of producers that are gone
  std::optional<std::chrono::steady_clock::time_point> first_call_;
};

}  // namespace easydata
