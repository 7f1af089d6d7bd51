#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/plan/logical_plan.h"
#include "operators/lending.h"
#include "operators/python_error.h"

namespace easydata {

/// What a source in Python says of the rows that it makes.
struct PythonRowsOptions {
  PythonRowsOptions(Borrowed open, Borrowed shard_names)
      : open(std::move(open)), shard_names(std::move(shard_names)) {}

  /// As PythonSource::open.
  Borrowed open;
  /// A function without arguments that gives the names of the shards.
  Borrowed shard_names;
  /// Of Arrow batches; null where rows come as dicts.
  std::shared_ptr<arrow::Schema> schema;
  nlohmann::json description;
  std::string name;
  /// The type of the source, for errors.
  std::string type_name;
  /// Of the only shard, where it is known and `open` goes to any of them at once.
  std::optional<int64_t> num_rows;
  /// Whether many rows can be looked at for next to nothing.
  bool is_at_hand = false;
  /// What the rows are made of: a state knows the files of these.
  std::vector<plan::LogicalPlanPtr> inputs;
  /// The order that `open` gives them in, where it shuffles them itself; kNone: it does not.
  source::SourceShuffleOptions order;
};

/// Reads the rows of a source in Python.
plan::LogicalPlanPtr PythonRows(PythonRowsOptions options);

}  // namespace easydata
