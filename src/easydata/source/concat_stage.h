#pragma once

#include <map>
#include <string>
#include <vector>

#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::source {

/// One of several streams that are read one after the other.
struct ConcatPart {
  StreamPlan plan = {};
  /// Other names for shards, where two parts would give the same one.
  std::map<std::string, std::string> shard_names = {};
  /// What the user calls it: "sources[0]".
  std::string name = {};
};

/// The rows of the first part, then those of the second, and so on. The parts must have one schema:
/// TypeError at the part that differs. Its cursor is {"part", "at"}, `at` being that of the part.
StreamPlan ConcatPlan(std::vector<ConcatPart> parts, const JoinOptions& join = {});

}  // namespace easydata::source
