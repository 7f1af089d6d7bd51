#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"
#include "easydata/stream/cursor.h"
#include "easydata/stream/mix_end.h"
#include "easydata/stream/stage_context.h"

namespace easydata {

class BatchOp;
struct BlockKeeping;  // stream/block_store.h

/// How much of a pass lies before the position: for progress, an estimate.
struct ReadShare {
  double done = 0;
  double whole = 0;
  /// Whether it is counted in bytes of files, else in rows.
  bool in_bytes = true;
  /// False where nobody knows how much there is, or there is no end.
  bool is_known = true;

  /// From 0 to 1, or nothing.
  std::optional<double> share() const;
  void Add(const ReadShare& beside);
  /// The same whole, of which so much is done.
  ReadShare Of(std::optional<double> share) const;
  /// Of a stage that read from `before` to here for a window, of which `rows` of `of` are out.
  ReadShare Within(const ReadShare& before, int64_t rows, int64_t of) const;
  static ReadShare Unknown() { return {.is_known = false}; }
};

/// What a stage has done since it was made; never part of the stream's position.
struct StageStats {
  int64_t rows = 0;
  int64_t bytes_read = 0;
  /// Of this pass, from its beginning, whatever a restored stage has read of it.
  ReadShare read = {};
  /// Seconds in Next() by stage, each without its upstream: of the thread that pulls, which does
  /// the stages' own work in order. "workers" is its wait for what runs in parallel.
  std::map<std::string, double> wait_seconds;
  /// Seconds of the worker threads, by what they did, added up over the threads.
  std::map<std::string, double> busy_seconds;
  /// Where the stream is a mix that has ended, or is made of one: of the last pass that ended.
  std::shared_ptr<const MixEnd> mix_end;

  /// Adds what a stage upstream has done; rows stay those of this stage.
  void AddUpstream(const StageStats& upstream);
};

/// Gives rows in stream order and can say where it stands: everything between a file and a batch.
///
/// The one rule: Save() answers for the batch that Next() returned last. What a stage has read
/// ahead does not exist yet. The output is a function of (config, data) alone, never of threads,
/// buffers or time.
///
/// Next(), is_ready(), Save() and Restore() are for one thread at a time; Cancel() may be called
/// from any.
class Stage {
 public:
  virtual ~Stage() = default;

  /// Returns the next rows in stream order, or nothing at the end of the stream. A batch may be
  /// empty, which is not the end. After an error every call returns the same error.
  virtual Result<std::optional<Batch>> Next() = 0;

  /// Whether Next() has a batch that it returns without a wait, as far as the stage can tell.
  virtual bool is_ready() const { return false; }

  /// Where the stream goes on after the batch that Next() returned last (or its start). No I/O,
  /// O(sources).
  virtual Cursor Save() const = 0;

  /// Resumes from a saved cursor. Called before the first Next() only.
  virtual Status Restore(const nlohmann::json& cursor) = 0;

  /// Rows of the whole stream, where they are known without reading them. Called before Next() and
  /// Seek() only.
  virtual Result<std::optional<int64_t>> NumRows() { return std::nullopt; }

  /// Goes to row `row` of the stream (from 0) where its position is known without reading the rows
  /// before: true, and Save() says so. Else false, and the stage must not be used any more. Called
  /// once, before the first Next() only.
  virtual Result<bool> Seek(int64_t row) { return false; }

  /// Asks for batches as Batch::ungathered, where the stage would copy rows together: the caller
  /// reads them where they are, or copies them on threads of its own. False where the stage has
  /// nothing to leave. Called before the first Next() only.
  virtual bool SkipGathering() { return false; }

  /// Makes a blocked or future Next() return Cancelled soon; callable any number of times.
  virtual void Cancel() = 0;

  /// The schema of every batch.
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;

  virtual StageStats stats() const { return {}; }

  /// Takes `op` into the stage's own parallel work, so that one task reads a batch and applies it.
  /// Returns false when the stage does no parallel work. Called before the first Next() only.
  virtual Result<bool> Fuse(std::shared_ptr<const BatchOp> op) { return false; }

  /// Applies `ops`, and keeps what comes of each block of the files that are read, or takes it from
  /// where it is kept: "", or why nothing can be kept here, which changes nothing. Called once,
  /// before the first Next() only; what is fused later works on what is kept.
  virtual Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                         const BlockKeeping& keeping);
};

/// Makes the error for a state that holds another value than was written.
Status DamagedState(const std::exception& error);

/// Whether a saved value is an integer of 64 bits: nothing else may be read as one.
bool IsWholeNumber(const nlohmann::json& value);

/// Invalid where a saved cursor has numbers that no stage writes: outside of arrays they all count
/// something, in arrays they are integers.
Status CheckSaved(const nlohmann::json& cursor);

/// Restores a stage from a cursor that may have been damaged since it was saved: Invalid where it
/// lacks something or has something else in its place.
Status RestoreSaved(const Cursor& cursor, Stage* stage);

}  // namespace easydata
