#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/loader/token_counts.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::loader {

/// The position in one lane of a stream: enough to give the next row, and does not grow.
struct LanePosition {
  int64_t epoch = 0;  // number of the pass
  /// Of the pass's stage, empty for its start; `skip` rows after it are handed out already.
  Cursor cursor;
  int64_t skip = 0;
  /// How far a mix was read for the rows up to here and the windows open downstream.
  MixWatermark::Boundary watermark;
};

/// Gives the rows of one lane of a stream, pass after pass, in parts of any size. For one thread;
/// Cancel() for any.
class LaneReader {
 public:
  /// Reads the lane that `context` names. Its passes follow each other; after each `passes` of them
  /// there is an end; with nothing given, there is none.
  LaneReader(StreamPlan plan, StageContext context, std::optional<int64_t> passes)
      : plan_(std::move(plan)), context_(std::move(context)), passes_(passes) {}

  /// Sets where to begin; called once, before all else. Cheap: the stages are made where rows are
  /// asked for.
  void Start(const LanePosition& position);

  /// Reads until `rows` rows are in hand; returns how many are: fewer at the end of the passes.
  Result<int64_t> Hold(int64_t rows);

  /// Takes rows that are in hand; adds to `counts` what was dropped before them. The position is
  /// then the one after them.
  std::vector<Batch> Take(int64_t rows, TokenCounts* counts);

  /// Counts the rows in hand, and the rest up to the end of the passes, as dropped, and goes to the
  /// start of the next pass.
  Status Finish(TokenCounts* counts);

  const LanePosition& position() const { return position_; }
  void Cancel();
  StageStats stats() const;

 private:
  struct Piece {
    Batch batch;
    int64_t epoch = 0;
    Cursor before;
    Cursor after;
    int64_t used = 0;
    bool counted = false;  // its drop counts are, here or before the restore
  };

  Status OpenPass();
  Status EndPass();
  /// Reads one batch; false at the end of the last pass.
  Result<bool> Pull();

  const StreamPlan plan_;
  StageContext context_;  // of the pass that is read
  const std::optional<int64_t> passes_;
  LanePosition position_;
  std::deque<Piece> pieces_;
  int64_t available_ = 0;
  std::optional<int64_t> last_epoch_;
  int64_t skip_ = 0;
  bool pass_has_rows_ = false;
  bool ended_ = false;
  Cursor cursor_;
  std::mutex mutex_;  // guards stage_ against Cancel()
  bool cancelled_ = false;
  std::unique_ptr<Stage> stage_;
  StageStats finished_;                         // of the passes before
  ReadShare last_read_ = ReadShare::Unknown();  // where no stage is there
};

}  // namespace easydata::loader
