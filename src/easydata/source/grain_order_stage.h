#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/source.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::source {

/// A host's rows, as xlstm_jax's loaders share a data set out: it is cut after its first
/// `num_rows`, or filled up to so many with empty rows, and split into contiguous parts, of which
/// the first ones have one row more where it cannot be split evenly.
struct RowShare {
  std::optional<int64_t> num_rows = {};
  int64_t part = 0;
  int64_t parts = 1;
  /// The source's rows from this one on are left alone: empty ones stand in their place.
  std::optional<int64_t> real_rows = {};

  /// Rows [begin, end); those past the source's last one are empty.
  struct Range {
    int64_t begin;
    int64_t end;
  };
  Range Of(int64_t source_rows) const;
};

struct GrainOrderOptions {
  static constexpr const char* kName = "GrainOrderOptions";
  static constexpr const char* kDoc = "A host's share of a dataset's rows, in Grain's order.";
  static constexpr const char* kNodes[] = {"grain_rows"};

  std::string name;  // of the source, in addresses
  Columns columns;
  std::vector<size_t> shards;
  /// Nothing: the rows are not shuffled.
  std::optional<uint64_t> seed = 0;
  RowShare share = {};
  /// Where it is not empty: a column of this name says which rows are empty ones (bool).
  std::string padding_column = {};
  /// Rows of an output batch, and of a task, which reads each of their blocks once.
  int64_t rows_per_batch = 4096;
  /// The numbers of the rows that are given, in their order, in place of all of them; null: all.
  std::shared_ptr<const std::vector<int64_t>> numbers = nullptr;
  /// Content of decoded blocks that is kept for the next batches.
  int64_t cache_bytes = int64_t{256} << 20;

  static config::FieldList Fields();
};

/// Gives all rows, or a host's share of them, in the order of Grain's
/// `MapDataset.source(...).shuffle(seed)`: index i of pass e holds row index_shuffle(i, seed + e)
/// of all rows of all shards (see GrainIndexShuffle); without shuffling, row i.
///
/// Where the source takes single rows (Source::takes_rows), a batch reads its own only. Else every
/// index may lie in any block, so a batch reads nearly as many blocks as it has rows where they are
/// more than the cache holds: an order for data in memory or of small blocks. Rows that cannot be
/// read are an error here. Its cursor is {"place"}. `schema` is of the source's rows.
std::unique_ptr<Stage> MakeGrainOrderStage(std::shared_ptr<const Source> source,
                                           const GrainOrderOptions& options,
                                           std::shared_ptr<arrow::Schema> schema,
                                           const StageContext& context);

/// The plan of such a stage: "grain_rows". Invalid where the share or the seed cannot be.
Result<StreamPlan> GrainRowsPlan(std::shared_ptr<const Source> source, GrainOrderOptions options);

/// The plan of rows that are chosen by their numbers among those of all shards, in this order:
/// "select_rows". IndexError where the source has fewer rows, once it is read.
Result<StreamPlan> SelectedRowsPlan(std::shared_ptr<const Source> source, GrainOrderOptions options,
                                    std::shared_ptr<const std::vector<int64_t>> numbers);

}  // namespace easydata::source
