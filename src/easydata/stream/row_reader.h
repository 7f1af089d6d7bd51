#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "easydata/stream/batch.h"
#include "easydata/stream/read_position.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Rows that were read for a window, in order, and the batches that hold them.
struct RowWindow {
  SharedBatches parts;
  std::vector<RowRef> rows;
  MixWatermark::Boundary watermark;  // of all rows
};

/// Gives the batches of a stage in parts, with the position of the row that comes next.
class RowReader {
 public:
  explicit RowReader(std::unique_ptr<Stage> upstream) : upstream_(std::move(upstream)) {}

  /// Makes sure that the batch in hand has rows that were not taken; false at the end of the
  /// stream. An error leaves the position where it is.
  Result<bool> Hold();
  /// The batch in hand, and the first row of it that was not taken.
  const Batch& batch() const { return *held_; }
  int64_t row() const { return row_; }
  /// Whether rows of the batch are left.
  bool any() const { return held_ != nullptr && row_ < held_->num_rows(); }
  /// Moves rows of the batch into `window`, one at least, as long as `more(row)`, called after
  /// each, returns true.
  template <typename More>
  void TakeInto(RowWindow* window, const More& more) {
    const auto part = static_cast<int32_t>(window->parts.size());
    window->parts.push_back(held_);
    do {
      window->rows.push_back({part, row_});
    } while (more(row_++) && any());
    window->watermark = held_->watermark.At(row_);
  }

  /// The position of the next row.
  ReadPosition Save() const;
  /// Goes on from a saved position; before the first Hold() only.
  Status Restore(const ReadPosition& position);

  /// What was left out since the last call. What was dropped with rows that a restore passes over
  /// was counted before it.
  std::vector<DropCount> TakeDropped();
  bool has_dropped() const { return !dropped_.empty(); }

  Stage* upstream() const { return upstream_.get(); }

 private:
  std::unique_ptr<Stage> upstream_;
  std::shared_ptr<const Batch> held_;
  int64_t row_ = 0;
  // Of the batch in hand, or, after a restore or an error, of the next one.
  Cursor before_;
  int64_t skip_ = 0;
  std::vector<DropCount> dropped_;
};

}  // namespace easydata
