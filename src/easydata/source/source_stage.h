#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "easydata/source/source.h"
#include "easydata/stream/stage.h"

namespace easydata {

struct SourceStageOptions {
  /// Name of the source in addresses; may be empty.
  std::string name;
  Columns columns;
  /// Shards to read, in this order; nothing means all.
  std::optional<std::vector<std::string>> shards;
  /// Rows to pass over in the first shard.
  int64_t start_row = 0;
  OnError on_error = OnError::kRaise;
  /// With kQuarantine: a file to which each row left out is added as a line of JSON.
  std::string quarantine_path;
  /// Told about rows left out, now and then; called by the thread that calls Next().
  std::function<void(const std::string& message)> report;
};

/// The stream of a source's rows: blocks are read and decoded by tasks in parallel, with the ops
/// fused into it, and numbered in order. Its cursor is {"shard", "row"} and shortcuts of the
/// format.
Result<StreamPlan> SourcePlan(std::shared_ptr<const Source> source, SourceStageOptions options);

}  // namespace easydata
