#pragma once

#include <arrow/type_fwd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::source {

/// The position at which reading a shard goes on. `row` says it all; the rest are shortcuts that
/// avoid reading what comes before.
struct ShardPosition {
  int64_t row = 0;   // the next row to hand out
  int64_t at = 0;    // the block to read, as its format numbers them: chunk, byte, record batch
  int64_t skip = 0;  // rows of that block before `row`
  int64_t line = 0;  // text formats: lines before the block
  /// False where only `row` is known and the reader has to find the block.
  bool exact = false;
};

/// So much of a file on another machine is fetched ahead of what is read.
inline constexpr int64_t kReadAheadBytes = 24 << 20;

/// Batches of columns are handed out in slices of about 2 MB and at most so many rows.
inline constexpr int64_t kMaxSliceRows = 8192;
inline int64_t RowsOfASlice(int64_t rows, int64_t bytes) {
  constexpr int64_t kSliceBytes = 2 << 20;
  return std::clamp<int64_t>(std::max<int64_t>(1, rows) * kSliceBytes / std::max<int64_t>(1, bytes),
                             1, kMaxSliceRows);
}

/// A bad row, and what is wrong with it.
struct BadRow {
  int64_t row = 0;    // counted from the block's first row, skipped ones included
  int64_t line = -1;  // counted from the block's first line; -1 where the format has no lines
  /// Groups of counts: "not valid JSON", "not UTF-8", "wrong type of field".
  std::string reason;
  std::string message;  // what, why; without address and advice
  std::string content;  // the row as it is in the file
};

/// One block of a shard, decoded.
struct DecodedBlock {
  std::shared_ptr<arrow::RecordBatch> rows;
  /// Row numbers of `rows`, counted from the block's first row, as runs (first, count).
  std::vector<std::pair<int64_t, int64_t>> runs;
  int64_t num_rows = 0;   // rows of the block, with bad and skipped ones
  int64_t num_lines = 0;  // text formats: lines of the block
  /// Rows that were left out (on_error is not raise).
  std::vector<BadRow> bad;
  /// The row at which decoding stopped (on_error is raise), after all of `rows`.
  std::optional<BadRow> stopped;
  /// Why the shard cannot be read further than this block.
  Status broken;
  /// Text formats: `broken` is about the line after this block's, not about the file's bytes.
  bool breaks_at_line = false;

  /// Takes all rows of a batch, the first `skip` left out.
  void SetRows(std::shared_ptr<arrow::RecordBatch> batch, int64_t skip);
};

/// Which part of a shard a task decodes, on the grid that is the same wherever reading began.
struct PieceId {
  int64_t block = 0;  // Source::ListBlocks
  int64_t piece = 0;  // of the block: 0 for its first one, then whatever the format says
};

/// What comes after a piece of a block.
inline constexpr int64_t kNoMorePieces = -1;

/// A block that is ready to be decoded on any thread.
struct BlockTask {
  std::function<Result<DecodedBlock>()> decode;
  /// Where the block after this one starts, as its format numbers them.
  int64_t next_at = 0;
  int64_t next_skip = 0;
  /// Nothing: it begins within a piece.
  std::optional<PieceId> piece = std::nullopt;
  /// PieceId::piece of the one after it, unless reading finds none there; kNoMorePieces where the
  /// block is known to end.
  int64_t next_piece = kNoMorePieces;
  /// Bytes of the file up to the block's end, where the blocks' numbers do not tell how far that
  /// is; -1: they do, or nobody knows.
  int64_t file_bytes = -1;
};

/// Reads one shard from a position on, block by block on a grid that depends on the file and the
/// columns alone. Next() is for one thread; the tasks may run on any, at once and in any order.
class ShardReader {
 public:
  virtual ~ShardReader() = default;

  /// The first block's position: its `row`, `line` and `skip` are exact. Before the first Next().
  virtual Result<ShardPosition> Start() = 0;

  /// The next block, or nothing at the end of the shard.
  virtual Result<std::optional<BlockTask>> Next() = 0;

  /// Makes a blocked Next() return Cancelled soon.
  virtual void Cancel() {}
};

}  // namespace easydata::source
