#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "easydata/base/status.h"
#include "easydata/sink/output_folder.h"
#include "easydata/sink/row_groups.h"
#include "easydata/sink/save_job.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::sink {

class ShardsByValue;
class UnitWriter;

/// Writes a stream into a folder of shards: row groups are encoded in parallel and appended in
/// order.
///
/// The files are the same, byte for byte, for any number of threads. See OutputFolder for what
/// happens on failure.
class StreamWriter {
 public:
  /// Invalid where an option is wrong or the stream never ends.
  static Result<std::unique_ptr<StreamWriter>> Make(StreamPlan plan, WriteOptions options,
                                                    WriteWiring wiring = {});
  ~StreamWriter();

  /// WriteWiring::template_date of the output in a folder, finished or not; "" where there is none.
  static std::string KeptTemplateDate(const std::string& path,
                                      const std::shared_ptr<const storage::Storage>& storage);

  /// Writes all of it; called once.
  Result<WriteResult> Run();

  /// Whether the finished output of this very job is there. Changes nothing.
  Result<bool> IsFinished() const;
  /// Invalid where a plan, this one or another of the same run, reads files of the output's folder.
  Status CheckInputs(const StreamPlan& plan) const { return job_.CheckInputs(plan); }

  /// Makes Run() return Cancelled soon; from any thread.
  void Cancel();
  WriteProgress progress() const;
  /// Says what Run() keeps of an earlier run, what not and why; "" where there is none.
  std::string notice() const;

 private:
  explicit StreamWriter(SaveJob job);
  struct Work;

  OutputJob Output() const;
  void NoteKept(const OutputFolder& folder);
  Result<WriteResult> RunUnits();
  Result<OutputFolder*> OpenFolder(Work* work);
  Status Restore(Work* work) const;
  Status MakeForm(Work* work) const;
  Status DealFewRows(Work* work) const;
  Result<std::unique_ptr<ShardsByValue>> MakeByValue(Work* work);
  Status WriteBySize(Work* work);
  Status WriteByCount(Work* work);
  /// Reads the next group, and notes now and then how far the input is read. For one thread at a
  /// time.
  Result<std::optional<RowGroup>> NextGroup(Work* work);
  void NoteRead(const ReadShare& read);

  const SaveJob job_;
  std::atomic<int64_t> rows_{0}, tokens_{0}, bytes_{0}, shards_{0}, kept_{0};
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;  // guards what Cancel() touches, the notice and read_
  Work* running_ = nullptr;
  UnitWriter* units_ = nullptr;  // writes beside what the counts above have
  std::string notice_;
  ReadShare read_ = ReadShare::Unknown();
};

}  // namespace easydata::sink
