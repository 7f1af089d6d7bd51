#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/exec/work_gate.h"
#include "easydata/files/io_counters.h"
#include "easydata/loader/batch_producer.h"
#include "easydata/loader/bottleneck.h"
#include "easydata/loader/loader_state.h"
#include "easydata/loader/step_finder.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::loader {

/// What a loader has done since it was made.
struct LoaderStats {
  int64_t rows = 0;    // of this rank
  int64_t tokens = 0;  // of these rows
  int64_t batches = 0;
  int64_t bytes_read = 0;
  double seconds = 0;  // since the first batch was asked for
  /// Until the pass ends, at the pace since the loader was made, restored or began the pass;
  /// nothing where it has no end, or nobody knows yet.
  std::optional<double> seconds_left = {};
  /// StageStats::wait_seconds, and: "collate" for putting rows together, "loader" for the trainer's
  /// wait for batches, "trainer" for the wait for them to be taken.
  std::map<std::string, double> wait_seconds;
  /// StageStats::busy_seconds, and "trainer": the time between two batches.
  std::map<std::string, double> busy_seconds;
  QueueFill queue;
  /// Of the stream up to here, not since the loader was made: for the lanes that the rank reads.
  TokenCounts counts;
  int64_t epoch = 0;  // of the lane that is furthest
  int64_t steps = 0;  // of the stream up to here, and their rows, over all ranks
  int64_t stream_rows = 0;
  /// How the mix ended, once its end was handed out and until the next pass begins.
  std::shared_ptr<const MixEnd> mix_end;
  /// What files on other machines took; with other loaders of the same source, of all of them.
  files::IoCounts io;

  /// {"since_start": what this loader has done, "stream": what lies before its position, over all
  /// runs, "queue": {"batches", "bytes"}, "eta_seconds"}; the counts of the two stand at the top,
  /// too, but for "steps" and "mix_end".
  nlohmann::ordered_json ToJson() const;
};

/// Hands out a stream in steps of `batch_size` rows, this rank's share of them, pass after pass.
///
/// The position is that of the batch handed out last, whatever was read ahead. Thread-safe; each
/// batch goes to one caller. A forked child goes on from the position at the fork with threads of
/// its own.
class Loader {
 public:
  /// Invalid where an option is wrong, naming it.
  static Status Check(const StreamPlan& plan, const LoaderOptions& options);
  static Result<std::unique_ptr<Loader>> Make(StreamPlan plan, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Waits until Take() has something to give: true, or false after about `seconds` without.
  /// Without prefetching the batch is made here, however long it takes.
  bool Wait(double seconds, std::optional<int64_t> pass = std::nullopt);

  /// The next batch, or nothing at the end of a pass; the call after that begins the next pass.
  /// Waits as it must. After an error every call returns the same error, until a state is loaded.
  /// With `pass`, the passes_ended() at which the caller began: nothing, too, where another thread
  /// has seen the end of that pass.
  Result<std::optional<LoaderBatch>> Take(std::optional<int64_t> pass = std::nullopt);

  /// The next batch if it is ready, else nothing: also where Take() would give an end or an error.
  /// Never waits, so that the caller may hold a lock that the engine's threads need (Python's).
  std::optional<LoaderBatch> TryTake(std::optional<int64_t> pass = std::nullopt);

  /// The batch that TryTake() would give, which is not taken by this: it shares its columns with
  /// the one that is taken later, and the position stays where it is.
  std::optional<LoaderBatch> TryPeek();

  /// Number of passes that Take() has ended since the loader was made.
  int64_t passes_ended() const { return passes_ended_; }

  /// The batch of a step, by a reader of its own: this loader stays where it is. It goes there at
  /// once where the position of each row is known (rows that are counted, mixed by examples,
  /// neither filtered nor packed). Else reading begins at the nearest known position at or before
  /// the step: this loader's, that of its pass or of the state it was given, else the start; what
  /// lies between is read, not put together.
  ///
  /// `interrupted` is called every 50 ms; when it returns true, or the loader is closed, Cancelled.
  /// IndexError where the passes up to the loader's own have fewer steps.
  Result<LoaderBatch> At(int64_t step, const std::function<bool()>& interrupted = nullptr);
  /// `most`, or the number of steps up to the end of the pass where they are fewer; found as At()
  /// finds a batch, and at the same cost.
  Result<int64_t> StepsUpTo(int64_t most, const std::function<bool()>& interrupted = nullptr);

  /// The position as JSON: versioned, with the plan's fingerprint; small, whatever the step.
  nlohmann::json SaveState();
  /// The same, or nothing where it would have to wait for another thread; see TryTake().
  std::optional<nlohmann::json> TrySaveState();
  /// Resumes from a saved position; Invalid where it is of another stream, naming the first
  /// difference. With "mix" in `allow` the weights, sources and options of the mix may differ: see
  /// docs/architecture.md, "Edits", for when they come into force.
  Status LoadState(const nlohmann::json& state, const std::vector<std::string>& allow = {});

  /// What the batches are made of.
  const StreamPlan& plan() const { return plan_; }
  LoaderStats stats();
  /// Finds what sets the pace, by the stats() up to here. For one of several loaders that are taken
  /// from in turn: with the seconds of the trainer's own work, and of waiting `elsewhere`.
  Bottleneck Explain(std::optional<double> training = std::nullopt, double elsewhere = 0);
  /// The RowDigest() of the rows that this loader handed out since it was made.
  uint64_t digest();

  /// Stops all work and ends every thread; what was handed out stays valid. Later calls of Take()
  /// fail.
  void Close();
  bool closed() const { return closed_; }

 private:
  Loader(StreamPlan plan, LoaderOptions options);

  nlohmann::json State();
  /// The beginning of every state: made once, as plans of many sources take a while.
  const nlohmann::json& PlanOfState();
  /// Counts the time since the last call as the trainer's, and that of this call as the loader's.
  void CountTraining();
  void CountWait();
  bool HasEnded(std::optional<int64_t> pass) const {
    return pass.has_value() && *pass != passes_ended_;
  }
  /// Whether batches may be ready. Called with mutex_ held.
  bool IsProducing() const {
    return !closed_ && failed_.ok() && producer_ != nullptr && forks_ == exec::NumForks();
  }
  /// Moves the position past `item`.
  void Advance(const Assembled& item);
  /// Reads a lane of this rank from a state.
  Result<SavedLane> LaneOf(const nlohmann::json& state, int64_t lane) const;
  Result<StepFinder::Found> Find(int64_t step, const std::function<bool()>& interrupted);
  /// How much of the pass was handed out with this batch, from 0 to 1, where it is known.
  std::optional<double> ShareOf(const Assembled& item) const;
  void NoteMilestone(const Assembled& item);
  std::optional<double> SecondsLeft() const;
  /// Counts a batch as handed out.
  LoaderBatch Deliver(Assembled item);
  Status EnsureProducer();
  /// Releases the producer once its counts are added; its thread ends where it is destroyed.
  std::unique_ptr<BatchProducer> ReleaseProducer();
  /// Leaves the threads and locks of the parent process alone.
  void NoticeFork();

  const StreamPlan plan_;
  const LoaderOptions options_;
  std::atomic<bool> closed_{false};
  std::atomic<int64_t> passes_ended_{0};
  exec::ForkableMutex mutex_;           // held while a batch is taken
  exec::ForkableMutex producer_mutex_;  // guards producer_ against Close()
  std::unique_ptr<BatchProducer> producer_;
  StepFinder finder_;
  std::shared_ptr<exec::ThreadPool> pool_;
  const files::IoCounts io_before_;  // when it was made
  uint64_t forks_;                   // before the process that made the producer
  Status failed_;
  KnownPositions known_;
  std::vector<TokenCounts> counts_;  // by lane read
  nlohmann::json plan_of_state_;     // null: not made yet
  nlohmann::json names_;             // of the mix's sources, as states have them
  uint64_t digest_ = 0;
  LoaderStats stats_;
  StageStats stage_stats_;  // of producers that are gone
  std::optional<std::chrono::steady_clock::time_point> first_call_;
  std::chrono::steady_clock::time_point left_;  // up to where time is counted
  double training_seconds_ = 0;
  /// A batch that was handed out: when, and how much of the pass had been read.
  struct Milestone {
    std::chrono::steady_clock::time_point when;
    double share;
  };
  std::optional<Milestone> first_;  // of the pass, since the loader was made or restored
  std::optional<Milestone> last_;
};

}  // namespace easydata::loader
