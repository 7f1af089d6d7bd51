#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/source/source.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::source {

/// The order of a source's rows.
enum class SourceShuffle {
  kNone,    // shard by shard, as they are
  kBlocks,  // row groups, record batches, chunks of lines in random order, their rows in their own
  kRows,    // that, and the rows of the blocks of a window
  kGrain,   // Grain's permutation of all rows
};

std::span<const NamedValue<SourceShuffle>> NamesOf(SourceShuffle);

struct SourceShuffleOptions {
  static constexpr const char* kName = "SourceShuffleOptions";
  static constexpr const char* kDoc = "The order of a source's rows.";
  static constexpr const char* kNodes[] = {"source"};

  SourceShuffle mode = SourceShuffle::kNone;
  /// With the epoch, what determines the order.
  uint64_t seed = 0;
  /// kRows: a window ends with the row at which its content gets to this many bytes.
  std::optional<int64_t> window_bytes;

  static constexpr int64_t kDefaultWindowBytes = int64_t{64} << 20;

  static config::FieldList Fields();
  /// Invalid, naming the option, where one has no meaning.
  Status Validate() const;
};

/// Shuffles the rows of a stream of shuffled blocks window by window: the second step of kRows.
Result<StreamPlan> ShuffleRows(StreamPlan blocks, const SourceShuffleOptions& options);

struct SourceStageOptions {
  static constexpr const char* kName = "SourceStageOptions";
  static constexpr const char* kDoc = "How a source is read.";
  static constexpr const char* kNodes[] = {"source"};

  /// Name of the source in addresses; may be empty.
  std::string name;
  Columns columns;
  /// Shards to read, in this order; nothing means all.
  std::optional<std::vector<std::string>> shards;
  /// Rows to pass over in the first shard; 0 where rows are shuffled.
  int64_t start_row = 0;
  SourceShuffleOptions shuffle;
  /// Rows of every block have their numbers in the shard, for which text is counted where blocks
  /// are read out of turn.
  bool numbers_rows = false;
  ErrorPolicy errors;
  /// Types of columns of files that have columns of their own, by their paths (ColumnTypes); what
  /// others hold is cast downstream.
  std::optional<config::Named<std::string>> column_types;
  /// A look ahead: the columns are those of the first shard.
  bool is_look = false;
  /// Reports rows left out, now and then; called by the thread that calls Next().
  std::function<void(const std::string& message)> report;

  static config::FieldList Fields();
};

/// The schema of the rows of these shards (Source::ColumnsOfShards), of the first one that is there
/// on, where lost ones are left out.
Result<std::shared_ptr<arrow::Schema>> SourceSchema(const Source& source,
                                                    const SourceStageOptions& options);

/// Makes the stream of a source's rows: tasks read and decode blocks in parallel, with the ops
/// fused into them; rows are numbered in order. Its cursor is the position in the ReadOrder, "row"
/// and shortcuts of the format.
Result<StreamPlan> SourcePlan(std::shared_ptr<const Source> source, SourceStageOptions options);

}  // namespace easydata::source
