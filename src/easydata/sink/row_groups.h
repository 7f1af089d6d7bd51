#pragma once

#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Where a stream goes on behind a row group: the stage's cursor and rows to leave out from there.
struct StreamPosition {
  std::shared_ptr<const nlohmann::json> cursor;
  int64_t skip = 0;
};

/// Consecutive rows that are encoded together.
struct RowGroup {
  std::vector<Batch> parts;
  int64_t rows = 0;
  StreamPosition next;
};

/// How a stream is cut into row groups. A function of the rows and the stream's own batches, so the
/// same on every run and after every restore.
struct RowGroupLimits {
  /// A group closes at this many rows or content bytes, whichever comes first; larger batches are
  /// cut into equal parts.
  int64_t rows = 65'536;
  int64_t bytes = 4 << 20;
  /// Groups of exactly `rows` rows instead.
  bool exact_rows = false;
};

/// Bytes of the values of a batch, without what is shared or unused: the same wherever its buffers
/// come from.
int64_t ContentBytes(const arrow::RecordBatch& batch);

/// Cuts a stage's batches into row groups. For one thread.
class RowGroupReader {
 public:
  RowGroupReader(Stage* stage, RowGroupLimits limits) : stage_(stage), limits_(limits) {}

  /// Goes on at a position that was saved. Called before anything else.
  Status Restore(const StreamPosition& position);

  /// Reads ahead until `rows` rows (-1: all) are at hand and returns them; Next() gives them again.
  Result<std::vector<Batch>> Peek(int64_t rows);

  /// The next group, or nothing at the end.
  Result<std::optional<RowGroup>> Next();

 private:
  struct Piece {
    Batch batch;
    StreamPosition next;
  };

  /// Pulls one batch and appends its pieces; false at the end.
  Result<bool> Pull();

  Stage* const stage_;
  const RowGroupLimits limits_;
  std::deque<Piece> pieces_;
  std::shared_ptr<const nlohmann::json> cursor_;  // before the next batch
  int64_t skip_ = 0;
  bool ended_ = false;
};

}  // namespace easydata
