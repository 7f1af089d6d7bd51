#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/config/field.h"
#include "easydata/loader/collate.h"
#include "easydata/loader/lane_reader.h"
#include "easydata/loader/lane_rows.h"
#include "easydata/loader/token_counts.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Says how a stream of rows is cut into steps.
struct StepOptions {
  int64_t batch_size = 8;
  /// By step, the factor of `batch_size` from that step on.
  std::map<int64_t, int64_t> rampup;
  bool drop_last = true;
  int64_t rank = 0;
  int64_t world_size = 1;
  /// Independent parts of the stream: lane l gives the l-th of so many equal parts of each step.
  int64_t lanes = 1;
  /// Passes that follow each other without an end between them. Several lanes end together, with
  /// the shortest; what the others have left is dropped.
  int64_t passes = 1;
  /// Steps between two ends, however long the passes are, which then follow each other for ever;
  /// nothing: the passes end where their rows do.
  std::optional<int64_t> steps;
  /// Passes that the stream itself carries on through (Demand::passes), beside `passes`.
  std::optional<int64_t> carried_passes = 1;
  PadOptions padding;

  /// Those that users set; the others follow from what is loaded.
  static auto Fields() {
    using O = StepOptions;
    return std::tuple{
        config::Field{"batch_size", &O::batch_size,
                      "Rows of a step, over all ranks; a multiple of world_size and of lanes."}
            .AtLeast(1),
        config::Field{
            "drop_last", &O::drop_last,
            "Leave out a last batch that is not full. Otherwise it is short or, with several "
            "ranks, filled up with rows of attention_mask 0 and labels -100."},
        config::Field{"rank", &O::rank, "Which part of every step this process gets, from 0."}
            .AtLeast(0),
        config::Field{"world_size", &O::world_size, "Processes that share the stream."}.AtLeast(1),
        config::Field{
            "lanes", &O::lanes,
            "Independent parts of the stream, each with its own share of the data, mixed and "
            "packed by itself; lane l gives the l-th of so many equal parts of every step, and a "
            "rank reads only the lanes that its rows are in. More than 1 needs `steps`, a mix that "
            "never ends, or files that tell how many rows they have: such lanes end together with "
            "the shortest, and what the others have beyond that is dropped, and counted so."}
            .AtLeast(1),
        config::Field{
            "steps", &O::steps,
            "Batches for each iter() of the loader, over as many passes as that takes: the next "
            "one goes on where this one ended. Unset: as many as `epochs` have."}
            .AtLeast(1),
        config::Field{
            "batch_rampup", &O::rampup,
            "{step: factor}: batch_size is multiplied by the factor from the step on; whole "
            "factors, and steps that count on from epoch to epoch."}
            .OrNone(),
    };
  }

  /// Rows of step number `step`, over all ranks.
  int64_t SizeOf(int64_t step) const;
  /// Rows of the steps before number `step`.
  int64_t RowsBefore(int64_t step) const;
  /// Whether the rows before `step` fit into an int64.
  bool Countable(int64_t step) const;

  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  /// The lanes that hold this rank's rows.
  Range LanesRead() const;
  /// What the steps demand of the stream.
  Demand AsDemand() const;
  /// Whether a stream that is read in these steps has no end.
  bool IsEndless(const StreamFacts& facts) const {
    return facts.is_endless() || !carried_passes.has_value();
  }
};

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
  uint64_t digest = 0;              // of this rank's rows
  int64_t bytes = 0;                // that the batch holds on to
};

/// Assembles steps from the rows of a stream's lanes, and takes a rank's contiguous share of each.
/// For one thread; Cancel() for any.
class BatchAssembler {
 public:
  BatchAssembler(const StreamPlan& plan, const std::shared_ptr<ThreadPool>& pool,
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

}  // namespace easydata
