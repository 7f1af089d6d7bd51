#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "easydata/stream/stage.h"

namespace easydata {

/// Gives the batches of a stage in parts, with the position of the row that comes next.
class RowReader {
 public:
  /// Where the stage reads a row again: its cursor, and the rows to pass over from there.
  struct Position {
    Cursor upstream;
    int64_t records = 0;
  };

  explicit RowReader(std::unique_ptr<Stage> upstream) : upstream_(std::move(upstream)) {}

  /// Makes sure that a batch is held with rows that were not taken; false at the end of the stream.
  /// An error leaves the position where it is.
  Result<bool> Hold();
  /// The batch that is held, and the first row of it that was not taken.
  const Batch& batch() const { return *held_; }
  int64_t row() const { return row_; }
  /// Whether rows of the batch are left.
  bool any() const { return held_.has_value() && row_ < held_->num_rows(); }
  /// The next row is taken.
  void Take() { ++row_; }

  /// The position of the next row.
  Position Save() const;
  /// Goes on from a saved position; before the first Hold() only.
  Status Restore(const nlohmann::json& upstream, int64_t records);

  /// What was left out since the last call. What was dropped with rows that a restore passes over
  /// was counted before it.
  std::vector<DropCount> TakeDropped();
  bool has_dropped() const { return !dropped_.empty(); }

  Stage* upstream() const { return upstream_.get(); }

 private:
  std::unique_ptr<Stage> upstream_;
  std::optional<Batch> held_;
  int64_t row_ = 0;
  // Of the batch that is held, or, after a restore or an error, of the one that comes next.
  Cursor before_;
  int64_t skip_ = 0;
  std::vector<DropCount> dropped_;
};

}  // namespace easydata
