#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/outputs/output_store.h"
#include "easydata/sink/output_metadata.h"
#include "easydata/sink/output_progress.h"
#include "easydata/storage/storage.h"

namespace easydata::sink {

/// A job that writes into a folder.
struct OutputJob {
  std::string path;
  /// How the path is reached; null: without options.
  std::shared_ptr<const storage::Storage> storage = nullptr;
  ShardNames names;
  bool overwrite = false;
  /// Whether a later run can go on after the last finished shard.
  bool resumable = true;
  /// Whether a later run gives the same rows at all.
  bool repeatable = true;
  /// A finished output of this job is kept as it is.
  bool keep_finished = false;
  /// Where each shard is a unit, which comes by AddUnit() in any order: how many there are.
  std::optional<int64_t> num_units = std::nullopt;
  /// Equal for equal outputs: only the same job resumes an unfinished output.
  nlohmann::json identity;
  /// Called now and then during long reads: true ends Open() with Cancelled.
  std::function<bool()> stopped = [] { return false; };
};

/// The hash of its job in the metadata of a finished output.
std::string JobHash(const nlohmann::json& identity);

/// Keeps the folder of an output so that no reader ever takes a part for the whole: shards get
/// their name when they are complete and on the disk, `.metadata.json` comes last, and what is
/// needed to resume is in the hidden folder `.easydata`.
///
/// A new output over an old one is written aside, in `.easydata`, and takes the old one's place
/// when it is complete. At every moment our own files list all of ours, and no others are ever
/// deleted. One process at a time holds a folder. Thread-compatible.
class OutputFolder {
 public:
  /// Makes the folder where there is none. FileExistsError (IOError, EEXIST) where it holds a
  /// finished output or another job's unfinished one and `overwrite` is not set, or files that are
  /// not ours; Invalid where our own files in it are damaged.
  static Result<std::unique_ptr<OutputFolder>> Open(OutputJob job);

  /// Whether the folder holds the finished output of the job. Changes nothing.
  static Result<bool> IsFinished(OutputJob job);

  /// Number of shards of an unfinished output that a job keeps when it is run again; an error where
  /// a store does not say so within a second.
  static Result<int64_t> UnfinishedShards(const std::string& path,
                                          const std::shared_ptr<const storage::Storage>& storage);

  /// What the output that is there says of itself: the identity of its job where it is unfinished,
  /// else its metadata. Null where there is none, or it is damaged.
  static nlohmann::json Described(const std::string& path,
                                  const std::shared_ptr<const storage::Storage>& storage);

  /// Leaves an unfinished output in a state to resume from, or nothing where it cannot be resumed.
  ~OutputFolder();

  /// The shards that are complete already, in order, and the position after the last of them
  /// (null: the start).
  const std::vector<ShardRecord>& finished() const { return progress_.shards; }
  const nlohmann::json& position() const;
  /// The metadata, where the output is complete already: it is kept, or an earlier run of this job
  /// was stopped just before its end; else null.
  const nlohmann::json& completed() const { return completed_; }
  /// Shards of an earlier run that are kept.
  int64_t kept() const { return kept_; }
  /// Says what is kept of an earlier run, what not and why; "" where there was none.
  const std::string& notice() const { return notice_; }

  std::string ShardNameOf(size_t index) const { return job_.names.Of(index); }
  /// Opens shard `index` to be written, before it is committed.
  Result<std::shared_ptr<outputs::OutputFile>> OpenShard(size_t index);

  /// Gives a complete shard its name; `position` is where the stream goes on after it.
  Status Commit(ShardRecord shard, nlohmann::json position);

  /// Of an output of units: those that are written, in the order of finished().
  const std::vector<int64_t>& units() const { return progress_.units; }
  /// Notes that a unit was written, by whoever published its shard: `record` is what UnitWriter
  /// says of it. Invalid where it is of another job, or of no unit that is left.
  Status AddUnit(const nlohmann::json& record);
  /// Puts them, and finished(), in the order of their numbers.
  void SortUnits() { progress_.SortUnits(); }
  /// What is known of unit number i of finished() beside its shard.
  const nlohmann::json& FactsOfUnit(size_t i) const { return progress_.next[i]; }

  /// Puts the output where readers look for it, with `metadata` last.
  Status Finish(const nlohmann::json& metadata);

  /// Makes the error of a progress file with a senseless position; says what to do.
  Status DamagedPosition(const std::string& what) const;

 private:
  /// The content of the folder.
  struct Found {
    bool is_there = false;
    std::optional<OutputMetadata> metadata;
    /// Of this job.
    std::optional<OutputProgress> progress;
    /// Whether there is progress, of any job and in any state.
    bool unfinished = false;
    /// Names in the folder that our files list, and the others.
    std::vector<std::string> ours;
    std::vector<std::string> foreign;
    /// Of ours, those that a finished output lists.
    std::set<std::string> of_metadata;

    bool is_finished(const OutputJob& job) const;
  };

  OutputFolder(OutputJob job, std::unique_ptr<outputs::OutputStore> store);

  Result<Found> Look() const;
  Status LookAtProgress(Found* found, std::set<std::string>* named) const;
  Status CheckMayWrite(const Found& found) const;
  Status Prepare();
  Status Keep(Found found);
  Status Resume(const Found& found);
  Status TakeUnitFiles();
  Status NoteUnit(const nlohmann::json& record);
  Status NoteUnitsInStore();
  Status RemoveStrayUnits() const;
  bool HasFailedUnits(const std::vector<std::string>& work_entries) const;
  Result<std::vector<std::string>> FindShards(std::string* problem) const;
  Result<std::string> Find(const ShardRecord& shard) const;
  Status Discard(const std::vector<std::string>& present);
  Status StartOver(const Found& found);
  Status WriteProgress() const;
  Result<std::vector<std::string>> WorkEntries() const;
  Status RemoveWork(bool keep_shards = false) const;
  Status Promote();
  Status RemoveReplaced();
  Status LeaveUnfinished() const;

  /// The name of a complete shard until the output takes its place.
  std::string WrittenName(const std::string& shard) const {
    return sink::WrittenName(progress_.staged, shard);
  }
  /// Whether we give names like this to files of the working folder.
  bool IsWorkName(const std::string& name) const;

  const OutputJob job_;
  const std::unique_ptr<outputs::OutputStore> store_;
  bool created_ = false;
  // The content of progress.jsonl is of this job.
  bool owns_progress_ = false;
  // From here on the output is complete: a run that is stopped is finished by the next.
  bool promoting_ = false;
  bool done_ = false;
  bool locked_ = false;
  OutputProgress progress_;
  std::set<std::string> of_metadata_;
  nlohmann::json completed_;
  int64_t kept_ = 0;
  std::set<int64_t> known_units_;  // those of progress_.units
  std::string notice_;
  // When the units of the last seconds are noted in a store.
  std::chrono::steady_clock::time_point note_units_at_{};
};

}  // namespace easydata::sink
