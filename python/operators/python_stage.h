#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/stream/columns.h"
#include "easydata/stream/stage.h"
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

/// A stage that asks Python for rows or batches of `schema`, taking the GIL once per batch. Its
/// cursor is {"shard", "row"}. Where batches of dicts end depends on how fast they come; what is in
/// them does not. After Cancel() it asks for no further row.
std::unique_ptr<Stage> MakePythonStage(std::shared_ptr<const PythonSource> source,
                                       std::shared_ptr<arrow::Schema> schema, int64_t epoch);

}  // namespace easydata
