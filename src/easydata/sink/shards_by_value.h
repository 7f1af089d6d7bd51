#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/exec/ordered_map.h"
#include "easydata/sink/row_groups.h"
#include "easydata/sink/shard_format.h"
#include "easydata/stream/column_layout.h"

namespace easydata::sink {

/// Divides rows among shards by the value of one column, and encodes those of each together.
///
/// A value's shard is the XXH3 hash (64 bits, seed 0) of its text modulo the number of shards. The
/// text is the UTF-8 (or the bytes) of text, else the value as JSON has it, of dates and times
/// their ISO text; that of null, and of a key that a row lacks, is empty. Rows of a shard stay in
/// their order. For one thread, but Cancel().
class ShardsByValue {
 public:
  struct Options {
    std::string column;
    int64_t shards = 1;
    /// Where the groups of a shard end; `multiple` of them, too.
    RowGroupLimits limits;
    /// Content of rows that wait for more of their shard.
    int64_t held_bytes = 256 << 20;
  };
  struct Group {
    size_t shard = 0;
    EncodedGroup encoded;
  };

  /// KeyError where a stream of `input` has no such column; Invalid where its values have no text.
  /// `layout` and `format` must outlive it.
  static Result<std::unique_ptr<ShardsByValue>> Make(
      const std::shared_ptr<arrow::Schema>& input, Options options,
      std::shared_ptr<exec::ThreadPool> pool, std::function<Result<std::optional<RowGroup>>()> pull,
      const ColumnLayout* layout, const ShardFormat* format);

  /// The next group of some shard, or nothing at the end.
  Result<std::optional<Group>> Next();
  void Cancel();

 private:
  /// Rows of one shard.
  struct Rows {
    size_t shard = 0;
    std::vector<Batch> parts = {};  // as they are written
    int64_t rows = 0;
    int64_t bytes = 0;
  };

  ShardsByValue(Options options, std::unique_ptr<ColumnLayout> key);
  Result<std::vector<Rows>> Split(const RowGroup& group, const ColumnLayout& layout) const;
  Result<std::vector<int64_t>> ShardsOf(const Batch& batch) const;
  Result<std::optional<Rows>> NextRows();
  void Add(Rows rows);
  /// Makes a group of what a shard holds, but for rows beyond a multiple where more may come.
  bool Close(size_t shard, bool is_last);

  const Options options_;
  const std::unique_ptr<ColumnLayout> key_;  // gives the column alone
  std::vector<Rows> held_;                   // by shard
  int64_t bytes_ = 0;
  std::deque<Rows> closed_;
  bool ended_ = false;
  // Last: their destructors wait for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<RowGroup, std::vector<Rows>>> split_;
  std::unique_ptr<exec::OrderedMap<Rows, Group>> encoded_;
};

}  // namespace easydata::sink
