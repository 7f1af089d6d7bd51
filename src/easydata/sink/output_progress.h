#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/sink/output_metadata.h"

namespace easydata {

/// How far an unfinished output has come: a line that says whose it is, one for each shard that is
/// complete, one with the metadata when all are. Each line carries its own hash, since a number
/// that changed would give other rows.
struct OutputProgress {
  /// Of the job, see OutputJob.
  nlohmann::json identity;
  std::string extension;
  /// Shards wait in the working folder until all are there.
  bool staged = false;
  /// The files of the output before, which go when this one takes its place.
  std::vector<std::string> replaces;
  std::vector<ShardRecord> shards;
  /// Where the stream goes on behind each shard; null where nobody can go on there.
  std::vector<nlohmann::json> next;
  /// Null until all shards are complete.
  nlohmann::json metadata;

  /// The whole file.
  std::string ToText() const;
  /// The line of one shard.
  std::string ShardLine(size_t shard) const;
};

/// "shard-00000.parquet".
std::string ShardName(size_t index, const std::string& extension);

/// Reads a file of progress: nothing where there is none. A last line that was cut off is left out;
/// Invalid names the line that is damaged otherwise, and says what to do.
Result<std::optional<OutputProgress>> ReadProgress(const std::string& path);

/// What ReadProgress() says of a file that is damaged.
Status DamagedProgress(const std::string& path, const std::string& what);

/// The names that a damaged file of progress can have given to shards, as far as it can be read,
/// and those of the files it replaces.
std::vector<std::string> NamesInDamagedProgress(const std::string& path);

}  // namespace easydata
