#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/loader/collate.h"
#include "easydata/loader/lane_reader.h"
#include "easydata/loader/lane_rows.h"
#include "easydata/loader/step_options.h"
#include "easydata/loader/token_counts.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::loader {

/// The position of a loader.
struct LoaderPosition {
  int64_t step = 0;        // steps handed out
  int64_t rows = 0;        // rows of the stream handed out, over all ranks
  int64_t pass_start = 0;  // with StepOptions::steps or several lanes: the step of the last end
  /// Those that the rank reads, in order.
  std::vector<LanePosition> lanes;
};

/// The start of the stream.
LoaderPosition StartOf(const StepOptions& options);

/// The rows of one step that belong to this rank.
struct LoaderBatch {
  std::vector<LoaderColumn> columns;
  int64_t step = 0;
  int64_t rows = 0;  // of this rank, with those added to fill the step up
};

/// A batch or the end of a pass, and the position and counts once it is handed out.
struct Assembled {
  std::optional<LoaderBatch> batch;
  LoaderPosition next;
  std::vector<TokenCounts> counts;  // of this step, by lane read, all ranks
  int64_t tokens = 0;               // of this rank's rows
  uint64_t digest = 0;              // of this rank's rows
  /// At the end of passes, where a mix ended them.
  std::shared_ptr<const MixEnd> mix_end = nullptr;
  int64_t bytes = 0;  // that the batch holds on to
  /// How much of the stream was read for it and the batches before, as of late (ReadShare).
  std::optional<double> read_share = {};
};

/// Assembles steps from the rows of a stream's lanes, and takes a rank's contiguous share of each.
/// For one thread; Cancel() for any.
class BatchAssembler {
 public:
  BatchAssembler(const StreamPlan& plan, const std::shared_ptr<exec::ThreadPool>& pool,
                 StepOptions options);

  /// Sets where to begin; called once, before Next(). Steps before `first_step` are read and passed
  /// over. Cheap: stages are made by the first Next().
  void Start(const LoaderPosition& position, int64_t first_step = 0);

  /// The next step or, once, the end of the passes.
  Result<Assembled> Next();
  void Cancel();
  StageStats stats();

 private:
  /// Reads the rows of the next step: how many there are, 0 at the end of the passes.
  Result<int64_t> Fetch();
  Result<Assembled> Step(int64_t rows);
  Result<Assembled> End();
  /// Types the numbers, strings and lists of numbers of JSON columns; the rest stays JSON.
  Result<std::vector<Batch>> TypeJson(std::vector<Batch> parts) const;
  /// Invalid where padding names a column that the stream does not have; whole rows of JSON may yet
  /// come with it.
  Status CheckPadding(const arrow::Schema& schema) const;
  /// Invalid where the shape of a column depends on rows that other ranks read.
  Status CheckLengths(const ColumnLengths& lengths) const;
  /// Whether each lane has `rows` more rows before the end that all lanes share.
  Result<bool> LanesHave(int64_t rows);
  /// Counts the step as handed out.
  void Advance(int64_t rows);

  const StepOptions options_;
  const StepOptions::Range lanes_;
  std::vector<std::unique_ptr<LaneReader>> readers_;  // of lanes_, in order
  std::unique_ptr<LaneRows> lane_rows_;               // of several lanes that end
  std::optional<int64_t> rows_to_end_;  // of each lane, from the last end; unset: not counted yet
  LoaderPosition position_;
  int64_t first_step_ = 0;
  double collate_seconds_ = 0;
};

}  // namespace easydata::loader
