#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/source/source_stage.h"
#include "easydata/stream/columns.h"
#include "easydata/stream/plan.h"
#include "operators/lending.h"
#include "operators/python_error.h"

namespace easydata {

/// What a stream of rows made by Python code needs.
struct PythonSource {
  explicit PythonSource(Borrowed open) : open(std::move(open)) {}

  std::vector<std::string> shard_names;
  /// open(shard name, row) -> iterable of rows as dicts, or of Arrow record batches of `schema`.
  /// Its iterator may have state() -> text or None, which says where it is; open(shard name, row,
  /// text) then goes on from there.
  Borrowed open;
  Columns columns;
  /// Of Arrow batches; null where rows come as dicts.
  std::shared_ptr<arrow::Schema> schema;
  std::string name;
  int64_t start_row = 0;
  /// Of the only shard, where it is known and `open` goes to any of them at once.
  std::optional<int64_t> num_rows;
  /// Where set, shards are read in an order of each (seed, epoch), and `open` is told the epoch.
  std::optional<uint64_t> shuffle_seed;
};

/// The schema of the batches of such a stream.
Result<std::shared_ptr<arrow::Schema>> PythonSchema(const PythonSource& source);

/// The stream of what `source` yields, shuffled as `order` says. `described` is what its node says
/// of it, beside its columns and shards; `inputs`: what the rows are made of, whose files are then
/// this stream's.
Result<StreamPlan> PythonStreamPlan(std::shared_ptr<PythonSource> source, nlohmann::json described,
                                    const source::SourceShuffleOptions& order,
                                    std::vector<PlanInput> inputs);

/// A stage that asks Python for rows or batches, taking the GIL once per batch. Its cursor is
/// {"shard", "row"}. Where batches of dicts end depends on how fast they come; what is in them does
/// not. After Cancel() it asks for no further row.
Result<std::unique_ptr<Stage>> MakePythonStage(std::shared_ptr<const PythonSource> source,
                                               const StageContext& context);

}  // namespace easydata
