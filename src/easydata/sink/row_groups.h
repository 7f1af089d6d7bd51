#pragma once

#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"
#include "easydata/stream/stage.h"

namespace easydata::sink {

/// Totals of what was left out or cut on the way, by reason.
struct DropTotals {
  std::map<std::string, int64_t> rows;
  std::map<std::string, int64_t> tokens;                      // where any were lost
  std::map<std::string, std::vector<std::string>> addresses;  // of the first rows, for people

  void Add(const std::vector<DropCount>& dropped);
  /// Adds what was left out behind it.
  void Add(const DropTotals& later);
};

/// Where a stream goes on after a row group: the stage's cursor and rows to pass over from there;
/// what was dropped before.
struct StreamPosition {
  Cursor cursor;
  int64_t skip = 0;
  DropTotals dropped;
};

/// Consecutive rows that are encoded together.
struct RowGroup {
  std::vector<Batch> parts;
  int64_t rows = 0;
  StreamPosition next;
};

/// Says how a stream is cut into row groups: a function of its rows alone, however they arrive.
struct RowGroupLimits {
  /// A group closes at this many rows or content bytes, whichever comes first.
  int64_t rows = 65'536;
  int64_t bytes = 4 << 20;
  /// Rows count alone.
  bool exact_rows = false;
  /// A group has a multiple of so many rows, but for the last of a shard.
  int64_t multiple = 1;
  /// Rows of a shard: a group ends with it. A reader begins with a shard.
  std::optional<int64_t> shard_rows = std::nullopt;
};

/// Cuts a stage's batches into row groups. For one thread.
class RowGroupReader {
 public:
  RowGroupReader(Stage* stage, RowGroupLimits limits) : stage_(stage), limits_(limits) {}

  /// Resumes at a saved position. Called before anything else.
  Status Restore(const StreamPosition& position);

  /// Reads ahead until `rows` rows (-1: all) are at hand and returns them; Next() gives them again.
  Result<std::vector<Batch>> Peek(int64_t rows);

  struct Ahead {
    int64_t rows = 0;
    /// The stream has no more.
    bool is_all = false;
  };
  /// Reads ahead and counts rows: `rows` at most, and none behind the one that makes `bytes` of
  /// content. Next() gives them again.
  Result<Ahead> CountAhead(int64_t rows, int64_t bytes);

  /// From here on groups have `rows` rows each, whatever multiple of them there was to be, and the
  /// first `longer` of them one more.
  void SetGroupRows(int64_t rows, int64_t longer);

  /// The next group, or nothing at the end.
  Result<std::optional<RowGroup>> Next();

  /// What was left out of the whole stream, once Next() has returned nothing.
  const DropTotals& dropped() const { return dropped_; }

 private:
  struct Piece {
    Batch batch;
    std::vector<DropCount> dropped_before;  // since the last row; the batch has its own
    Cursor before;
    Cursor after;
    std::vector<int64_t> bytes;  // by row
    int64_t used = 0;            // rows that are in a group
  };

  /// Whether a group of this size is closed.
  bool IsFull(int64_t rows, int64_t bytes) const;
  /// Pulls one batch; false at the end, which may not come before the rows to pass over.
  Result<bool> Pull();

  Stage* const stage_;
  RowGroupLimits limits_;
  int64_t longer_ = 0;  // groups to come with one row more
  std::deque<Piece> pieces_;
  int64_t in_shard_ = 0;  // rows of the shard that are in groups; counted where its rows are
  Cursor cursor_;         // before the next batch
  int64_t skip_ = 0;
  std::vector<DropCount> pending_;  // dropped since the last row
  DropTotals dropped_;
  bool ended_ = false;
};

}  // namespace easydata::sink
