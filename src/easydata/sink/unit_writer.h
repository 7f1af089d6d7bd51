#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "easydata/base/status.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/outputs/output_store.h"
#include "easydata/sink/save_job.h"
#include "easydata/sink/shard_form.h"
#include "easydata/stream/stage.h"
#include "easydata/stream/unit.h"

namespace easydata::sink {

/// Writes units of an output, each into a shard of its own. Any number of them may work on one
/// output, on any machines: a coordinator (UnitCoordinator) holds it and says who writes what.
///
/// A shard gets its name when it is complete; two that write one unit give it the same bytes. Write
/// is for one thread at a time, Cancel() and progress() for any.
class UnitWriter {
 public:
  explicit UnitWriter(SaveJob job);
  ~UnitWriter();

  /// Writes one unit and says what was written: {"unit", "job", "shard": ToJson(ShardRecord),
  /// "dropped", "dropped_tokens", "dropped_at", "seconds", "cpu_seconds", "ended", "host", "pid"}.
  ///
  /// Invalid where the output in the folder is not that of this very job, as where data or
  /// configuration are others than the coordinator's.
  Result<nlohmann::json> Write(const Unit& unit);

  /// Says in the folder why a unit could not be written; gives where its log is kept, "" where it
  /// has none.
  Result<std::string> Fail(int64_t unit, const std::string& error, const std::string& log);

  /// The form of the shards.
  Result<const ShardForm*> Form();

  /// Makes Write() return Cancelled soon, for good.
  void Cancel();
  /// What was written so far of all units.
  WriteProgress progress() const;

 private:
  struct Work;

  Status Join();
  Status Start(const Unit& unit, Work* work);
  Status WriteRows(Work* work);
  Status Tell(Work* work);
  Status TellNowAndThen(Work* work);

  const SaveJob job_;
  const std::string job_hash_;
  const std::shared_ptr<exec::ThreadPool> pool_;
  std::unique_ptr<outputs::OutputStore> store_;  // null until the output was looked at
  bool staged_ = false;
  std::optional<ShardForm> form_;
  std::atomic<int64_t> rows_{0}, tokens_{0}, bytes_{0}, shards_{0};
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;  // guards running_
  Work* running_ = nullptr;
};

}  // namespace easydata::sink
