#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/sink/output_folder.h"
#include "easydata/sink/output_format.h"
#include "easydata/sink/row_groups.h"
#include "easydata/sink/write_options.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::sink {

class ShardsByValue;

/// What the metadata has of a tokenizer beside its fingerprint.
struct KnownTokenizer {
  /// Where it came from; nothing where it was made of text.
  std::optional<std::string> path;
  /// One more than its largest id.
  int64_t id_limit = 0;
};

/// What a writer is told by the job that it is part of.
struct WriteWiring {
  /// False where the stream cannot be read again: nothing is left to resume from.
  bool resumable = true;
  /// A finished output of this very job is kept; else it is treated as any finished output.
  bool keep_finished = false;
  /// Rows that the types of JSON columns and the columns of free-form rows are taken from; -1 for
  /// all.
  int64_t sample_rows = 1000;
  /// The configuration of the whole job in the metadata; null: the options.
  nlohmann::json config = {};
  /// The tokenizers that are known, by fingerprint; the metadata describes those of the plan.
  std::map<std::string, KnownTokenizer> tokenizers = {};
  /// What a schedule of the stream takes for its steps, as Demand::step_rows; empty: there are
  /// none, and it counts examples.
  std::vector<Demand::StepRows> step_rows = {};
  /// The date that chat templates of the stream were given by nobody, but by the first run of the
  /// job; "": there is none.
  std::string template_date = {};
  /// Where row groups end; what options say of it goes before.
  RowGroupLimits row_groups = {};
  /// Content that is read ahead to see whether there are few rows for a number of shards.
  int64_t ahead_bytes = 256 << 20;
};

struct WriteResult {
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  std::vector<ShardRecord> shards;
  /// The first of the shards are those of an earlier run.
  int64_t kept_shards = 0;
  /// Rows left out or cut on the way, and their tokens, over all runs of the job.
  DropTotals dropped;
  /// MixEnd::ToJson() where the stream is a mix that ended, else null.
  nlohmann::json mix_end;
  /// Numbers that JSON does not have (NaN, the infinities), written as null, by column.
  std::map<std::string, int64_t> nulls;
};

/// What is written so far, with finished shards of an earlier run.
struct WriteProgress {
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  int64_t shards = 0;
  int64_t kept_shards = 0;
};

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
  Status CheckInputs(const StreamPlan& plan) const;

  /// Makes Run() return Cancelled soon; from any thread.
  void Cancel();
  WriteProgress progress() const;
  /// Says what Run() keeps of an earlier run, what not and why; "" where there is none.
  std::string notice() const;

 private:
  StreamWriter(StreamPlan plan, WriteOptions options, WriteWiring wiring, ShardNames names,
               const OutputFormat* format);
  struct Work;

  OutputJob Job() const;
  nlohmann::json Form() const;
  nlohmann::json Identity() const;
  nlohmann::json Config() const;
  nlohmann::json Tokenizers(const Vocabularies& tokens) const;
  nlohmann::json Metadata(const WriteResult& result, const arrow::Schema& schema,
                          const Vocabularies& tokens) const;
  Result<OutputFolder*> OpenFolder(Work* work);
  Status Restore(Work* work) const;
  Status MakeLayout(Work* work);
  Status DealFewRows(Work* work) const;
  Result<std::unique_ptr<ShardsByValue>> MakeByValue(Work* work) const;
  Status WriteBySize(Work* work);
  Status WriteByCount(Work* work);
  WriteResult ResultOf(const OutputFolder& folder, DropTotals dropped) const;

  const StreamPlan plan_;
  const WriteOptions options_;
  const WriteWiring wiring_;
  const ShardNames names_;
  const OutputFormat* const format_;
  std::atomic<int64_t> rows_{0}, tokens_{0}, bytes_{0}, shards_{0}, kept_{0};
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;  // guards what Cancel() touches, and the notice
  Work* running_ = nullptr;
  std::string notice_;
};

}  // namespace easydata::sink
