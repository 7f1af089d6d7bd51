#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/loader/collate.h"
#include "easydata/loader/token_counts.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// How a stream of rows is cut into steps.
struct StepOptions {
  /// Rows a step, over all ranks; a multiple of `world_size`.
  int64_t batch_size = 8;
  /// By step, what `batch_size` is multiplied with from that step on; whole factors, so that every
  /// size is a multiple of `world_size` too.
  std::map<int64_t, int64_t> rampup;
  bool drop_last = true;
  int64_t rank = 0;
  int64_t world_size = 1;
  /// Passes that follow each other without an end between them.
  int64_t passes = 1;
  PadOptions padding;

  /// Rows of step number `step`, over all ranks.
  int64_t SizeOf(int64_t step) const;
};

/// Where a loader stands: what is kept is enough to give the next batch, and does not grow.
struct LoaderPosition {
  int64_t step = 0;   // steps handed out
  int64_t rows = 0;   // rows of the stream handed out, over all ranks
  int64_t epoch = 0;  // number of the pass
  /// Of the pass's stage, null for its start; `skip` more rows are handed out already.
  std::shared_ptr<const nlohmann::json> cursor;
  int64_t skip = 0;
  /// How far a mix was read for the rows up to here and the windows open behind them.
  MixReach::Place reach;
};

/// The rows of one step that belong to this rank.
struct LoaderBatch {
  std::vector<LoaderColumn> columns;
  int64_t step = 0;
  int64_t rows = 0;  // of this rank, rows added to fill the step up included
};

/// What the assembler gives: a batch or the end of a pass, and what is true once it is handed out.
struct Assembled {
  std::optional<LoaderBatch> batch;
  LoaderPosition next;
  TokenCounts counts;   // of this step, all ranks
  uint64_t digest = 0;  // of this rank's rows
  int64_t bytes = 0;    // that the batch holds on to
};

/// Cuts passes of a stream into steps and takes a rank's contiguous share of each. For one thread;
/// Cancel() for any.
class BatchAssembler {
 public:
  BatchAssembler(StreamPlan plan, std::shared_ptr<ThreadPool> pool, StepOptions options)
      : plan_(std::move(plan)), pool_(std::move(pool)), options_(std::move(options)) {}

  /// Sets where to begin; called once, before Next(). Steps before `first_step` are read and passed
  /// over. Cheap: stages are made by the first Next().
  void Start(const LoaderPosition& position, int64_t first_step = 0) {
    position_ = position;
    first_step_ = first_step;
  }

  /// The next step or, once, the end of the passes.
  Result<Assembled> Next();
  void Cancel();
  StageStats stats();

 private:
  struct Piece {
    Batch batch;
    int64_t epoch = 0;
    std::shared_ptr<const nlohmann::json> before;
    std::shared_ptr<const nlohmann::json> after;
    int64_t used = 0;
    bool counted = false;  // its drop counts, before or in an earlier life
  };

  Status OpenPass();
  /// Pulls one batch; false at the end of the last pass.
  Result<bool> Pull();
  /// Reads the rows of the next step: how many there are, 0 at the end of the passes.
  Result<int64_t> Fetch();
  /// Takes the rows of a step off what was read, and moves the position behind them.
  std::vector<Batch> Cut(int64_t rows, TokenCounts* counts);
  Result<Assembled> Step(int64_t rows);
  /// Numbers, strings and lists of numbers out of JSON columns; the rest stays JSON.
  static Result<std::vector<Batch>> TypeJson(std::vector<Batch> parts);
  Result<Assembled> End();

  const StreamPlan plan_;
  const std::shared_ptr<ThreadPool> pool_;
  const StepOptions options_;
  LoaderPosition position_;
  int64_t first_step_ = 0;
  std::deque<Piece> pieces_;
  int64_t available_ = 0;
  int64_t epoch_ = 0;
  int64_t last_epoch_ = 0;
  int64_t skip_ = 0;
  bool started_ = false;
  bool ended_ = false;
  std::shared_ptr<const nlohmann::json> cursor_;
  std::mutex mutex_;  // guards stage_ against Cancel()
  bool cancelled_ = false;
  std::unique_ptr<Stage> stage_;
  StageStats finished_;  // of the passes before
  double collate_seconds_ = 0;
};

}  // namespace easydata
