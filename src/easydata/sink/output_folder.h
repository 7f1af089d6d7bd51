#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/base/status.h"

namespace easydata {

/// One finished file of an output.
struct ShardRecord {
  std::string name;  // "shard-00000.parquet"
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  std::string hash;  // XXH3, 64 bits, of the file: 16 hexadecimal digits
};

/// What is written into a folder, by whom.
struct OutputJob {
  std::string path;
  /// ".parquet", ".jsonl.gz", …
  std::string extension;
  bool overwrite = false;
  /// Whether a later run can go on behind the last finished shard.
  bool resumable = true;
  /// Equal for equal outputs: an unfinished output is gone on with by the same job only.
  nlohmann::json identity;
};

/// The folder of an output, kept so that no reader ever takes a part for the whole: shards get
/// their name when they are complete, `metadata.json` comes last, and what is needed to go on
/// stands in the hidden folder `.easydata`.
///
/// A new output over an old one is written aside, in `.easydata`, and takes the old one's place
/// when it is complete. One process at a time holds a folder. Local file systems only.
/// Thread-compatible.
class OutputFolder {
 public:
  /// Makes the folder where there is none. FileExistsError (IOError, EEXIST) where it holds a
  /// finished output, another job's unfinished one or files of others and `overwrite` is not set;
  /// the files of others are never deleted unless they are data files.
  static Result<std::unique_ptr<OutputFolder>> Open(OutputJob job);

  /// Leaves an unfinished output behind in a state to go on from, or nothing where none can be gone
  /// on with.
  ~OutputFolder();

  /// The shards that are complete already, in order, and the position behind the last of them
  /// (null: the start).
  const std::vector<ShardRecord>& finished() const { return finished_; }
  const nlohmann::json& position() const { return position_; }
  /// The metadata, where an earlier run of this job was stopped just before its end and is complete
  /// now; else null.
  const nlohmann::json& completed() const { return completed_; }

  std::string ShardName(size_t index) const;
  std::string ShardPath(const ShardRecord& shard) const { return job_.path + "/" + shard.name; }
  /// Where shard `index` is written to until it is complete.
  std::string TemporaryPath(size_t index) const;

  /// Gives a complete shard its name; `position` is where the stream goes on behind it.
  Status Commit(ShardRecord shard, nlohmann::json position);

  /// Puts the output in its place, with `metadata` last.
  Status Finish(const nlohmann::json& metadata);

 private:
  explicit OutputFolder(OutputJob job);

  Status Prepare();
  Status Lock();
  Status Resume(const nlohmann::json& progress);
  Status StartOver(const std::vector<std::string>& entries);
  nlohmann::json ProgressLine(size_t shard) const;
  Status StartProgress() const;
  Status TakePlace(const nlohmann::json& metadata);
  std::string StagedPath(const std::string& name) const;
  std::string work() const { return job_.path + "/.easydata"; }

  const OutputJob job_;
  bool created_ = false;
  bool done_ = false;
  // Complete shards wait in the working folder until all are there.
  bool staged_ = false;
  int lock_fd_ = -1;
  std::vector<ShardRecord> finished_;
  std::vector<nlohmann::json> positions_;  // behind each finished shard
  nlohmann::json position_;
  nlohmann::json completed_;
};

}  // namespace easydata
