#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "easydata/base/status.h"

namespace easydata {

/// Consecutive blocks of one shard.
struct BlockRun {
  size_t shard = 0;  // an index into Source::shard_names()
  int64_t begin = 0;
  int64_t end = kWhole;  // kWhole: the shard as a whole

  static constexpr int64_t kWhole = -1;

  bool operator==(const BlockRun&) const = default;
};

/// A part of a stream's files that is worked on by itself, in any process.
struct Unit {
  int64_t number = 0;
  std::vector<BlockRun> runs;
  /// Of the files; an estimate where a run is a part of one.
  int64_t bytes = 0;

  bool operator==(const Unit&) const = default;
};

/// Divides the files of a stream into units of about so many bytes each: a function of the files
/// and the number alone. Reads headers or footers of files that are larger.
using DivideFunction = std::function<Result<std::vector<Unit>>(int64_t bytes)>;

/// {"unit": number, "bytes": ..., "runs": [[shard, begin, end], ...]}.
nlohmann::json ToJson(const Unit& unit);

/// Reads what ToJson() wrote; Invalid where it is something else.
Result<Unit> UnitFromJson(const nlohmann::json& value);

}  // namespace easydata
