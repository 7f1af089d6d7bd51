#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "easydata/stream/cursor.h"

namespace easydata {

/// Says where a stage's rows are read again: its cursor, and the rows to pass over from there.
struct ReadPosition {
  Cursor upstream;
  int64_t records = 0;

  /// The keys "upstream" and "records", to which a cursor adds its own.
  nlohmann::json ToJson() const;
  /// Reads the position's keys of a cursor.
  static ReadPosition FromJson(const nlohmann::json& cursor);
};

}  // namespace easydata
