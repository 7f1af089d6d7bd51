#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/outputs/output_store.h"
#include "easydata/sink/output_metadata.h"

namespace easydata::sink {

/// What the shards of an output are called.
struct ShardNames {
  /// "" for shard-00000, shard-00001, ...; else <prefix>_000000, as ArrayRecord files are named.
  std::string prefix;
  /// ".parquet", ".jsonl.gz", …
  std::string extension;

  /// "shard-00000.parquet" or "train_000000.parquet".
  std::string Of(size_t index) const;
  /// Whether a shard might have this name.
  bool MayBe(const std::string& name) const;

  bool operator==(const ShardNames&) const = default;
};

/// The progress of an unfinished output: a line with its job, one for each shard that is complete,
/// one with the metadata when all are. Each line carries its own hash, since a number that changed
/// would give other rows.
struct OutputProgress {
  /// Of the job, see OutputJob.
  nlohmann::json identity;
  ShardNames names;
  /// Shards wait in the working folder until all are there.
  bool staged = false;
  /// The files of the output before, which are deleted when this one takes its place.
  std::vector<std::string> replaces;
  std::vector<ShardRecord> shards;
  /// Where the stream goes on after each shard; null where it cannot go on there. Of an output of
  /// units: what else its record says.
  std::vector<nlohmann::json> next;
  /// When each shard was complete and when the job began, in seconds since 1970; 0: nobody said.
  std::vector<double> ended;
  double began = 0;
  /// Of an output of units: how many there are, and which the shards are, in the order in which
  /// they were written.
  std::optional<int64_t> num_units;
  std::vector<int64_t> units;
  /// Null until all shards are complete.
  nlohmann::json metadata;

  /// Adds a shard that is complete now.
  void Add(ShardRecord shard, nlohmann::json facts);
  /// Names that shards have or may get, whatever is written of them.
  std::vector<std::string> ShardNamesThere() const;
  /// Puts the shards of units in the order of the units.
  void SortUnits();

  /// The whole file.
  std::string ToText() const;
  /// The line of one shard.
  std::string ShardLine(size_t shard) const;
};

/// Reads a progress file: nothing where there is none. A last line that was cut off is left out;
/// Invalid names a line with any other damage, and says what to do.
Result<std::optional<OutputProgress>> ReadProgress(const outputs::OutputStore& store,
                                                   const std::string& name);

/// Where a shard is that is complete: in the working folder while it is `staged`.
std::string WrittenName(bool staged, const std::string& shard);

/// The names of the progress file and the lock of an output.
inline constexpr char kLock[] = ".easydata/lock";
inline constexpr char kProgressName[] = ".easydata/progress.jsonl";

/// Makes the error of ReadProgress() for a damaged file at `path`.
Status DamagedProgress(const std::string& path, const std::string& what);

/// The names that a damaged progress file may have given to shards, as far as it can be read, and
/// those of the files it replaces.
std::vector<std::string> NamesInDamagedProgress(const outputs::OutputStore& store,
                                                const std::string& name);

}  // namespace easydata::sink
