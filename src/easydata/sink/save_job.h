#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <map>
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

namespace easydata::sink {

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
  /// Tokens by source; nothing where an older version wrote some of the shards.
  SourceTokens source_tokens;

  /// {"rows", "tokens", "bytes", "shards": [ToJson(ShardRecord), ...], "kept_shards", "dropped" (by
  /// reason), "dropped_tokens", "dropped_at", "mix_end", "nulls", "source_tokens"}.
  nlohmann::ordered_json ToJson() const;
};

/// What is written so far, with finished shards of an earlier run.
struct WriteProgress {
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  int64_t shards = 0;
  int64_t kept_shards = 0;
  /// How much of the input lies before what was read, with what an earlier run read of it.
  ReadShare read = ReadShare::Unknown();

  /// {"rows", "tokens", "bytes", "shards", "kept_shards"}, and where it is known how much input
  /// there is, how much of it was read: "input_bytes" of "total_input_bytes", or "input_parts" of
  /// "total_input_parts".
  nlohmann::ordered_json ToJson() const;
};

/// WriteWiring::template_date in what an output says of its job.
inline constexpr char kTemplateDateKey[] = "template_date";

/// A stream and the output that it is written to, checked; and what the output says of them.
struct SaveJob {
  StreamPlan plan;
  WriteOptions options;
  WriteWiring wiring;
  ShardNames names;
  const OutputFormat* format = nullptr;

  /// Invalid where an option is wrong, the stream never ends or cannot be divided into the units
  /// that are asked for.
  static Result<SaveJob> Make(StreamPlan plan, WriteOptions options, WriteWiring wiring);

  /// The folder's view of it. `stopped`: OutputJob::stopped.
  OutputJob Output(std::function<bool()> stopped) const;
  /// Equal for equal outputs.
  nlohmann::json Identity() const;
  /// The metadata of the output, finished; its columns are those of `schema`.
  nlohmann::json Metadata(const WriteResult& result, const arrow::Schema& schema,
                          const Vocabularies& tokens) const;
  /// What is to be said of the shards that are there.
  WriteResult ResultOf(const OutputFolder& folder, DropTotals dropped) const;
  /// The result of an output that is complete already.
  WriteResult ResultOfCompleted(const OutputFolder& folder) const;
  /// Invalid where a plan, this one or another of the same run, reads files of the output's folder.
  Status CheckInputs(const StreamPlan& other) const;

 private:
  nlohmann::json Form() const;
  nlohmann::json Config() const;
  nlohmann::json Tokenizers(const Vocabularies& tokens) const;
};

}  // namespace easydata::sink
