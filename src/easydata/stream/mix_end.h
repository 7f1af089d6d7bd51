#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace easydata {

/// How a mix ended: which source ended it, and how far each was read. Of the whole stream up to
/// there, whatever a resumed run has read of it.
struct MixEnd {
  struct Source {
    std::string name;
    /// Rows taken, over all passes; nothing where a state without these counts was resumed from.
    std::optional<int64_t> rows;
    /// Passes over the source that were completed.
    int64_t passes = 0;
    /// Rows of a pass that was begun and not completed; 0 where each was. Unknown with `rows`.
    std::optional<int64_t> rows_of_last_pass;
    /// Rows of one pass, where that is known.
    std::optional<int64_t> rows_in_pass;

    /// Rows of the last pass that were not taken, where that is known.
    std::optional<int64_t> rows_left() const;
  };
  std::string ended_by;
  std::vector<Source> sources;

  /// {"ended_by": name, "sources": {name: {"rows", "passes", "rows_in_pass", "rows_left"}}}.
  nlohmann::json ToJson() const;
};

}  // namespace easydata
