#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace easydata {

/// Names the shard that rows come from: a new file does not shift the names.
struct ShardRef {
  std::string source;
  std::string shard;
  /// The pass over the source that the rows belong to, where a mix or a repetition counts passes.
  int64_t epoch = 0;
  /// Its documents come with their own ends, as rendered chats do: a packer adds none.
  bool has_own_ends = false;
  /// The token that closes its documents, where tokens of several vocabularies are joined.
  std::optional<int32_t> eos_id = std::nullopt;
};

/// Says where one row was read: shown in errors and kept in spans.
struct Address {
  std::shared_ptr<const ShardRef> shard;
  /// Row number in the shard, from 0: for text formats the line or record number.
  int64_t row = 0;
  /// Number among the rows that an expansion made of that row; -1 where nothing was expanded.
  int32_t sub_row = -1;

  /// Returns `sources["code"] data/a.jsonl row 812`, for error messages.
  std::string ToString() const;
};

/// The addresses of a batch's rows, stored as runs of rows that follow each other in one shard.
class Addresses {
 public:
  struct Run {
    std::shared_ptr<const ShardRef> shard;
    int64_t row;
    int32_t sub_row;  // with sub_row >= 0 the run is one row long
    int64_t count;
  };

  Addresses() = default;
  /// Addresses of `count` rows of one shard from `row` on.
  Addresses(std::shared_ptr<const ShardRef> shard, int64_t row, int64_t count) {
    Append(std::move(shard), row, -1, count);
  }

  /// Adds rows at the end; a run that continues the last one is joined to it.
  void Append(std::shared_ptr<const ShardRef> shard, int64_t row, int32_t sub_row, int64_t count);
  void Append(const Address& address) { Append(address.shard, address.row, address.sub_row, 1); }
  void Append(const Addresses& other);

  /// The address of row `i`, 0 <= i < size(). O(log runs).
  Address At(int64_t i) const;
  Addresses Slice(int64_t offset, int64_t length) const;
  /// The addresses of the rows named by `indices`, in that order.
  Addresses Take(const std::vector<int64_t>& indices) const;
  /// The same rows, their shards as `name(shard)` has them.
  template <typename Name>
  Addresses Renamed(Name name) const {
    Addresses out;
    for (const Run& run : runs_) out.Append(name(run.shard), run.row, run.sub_row, run.count);
    return out;
  }
  /// Moves every row number on by `rows`: text chunks are numbered once their first row is known.
  void ShiftRows(int64_t rows);

  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  std::vector<Run> runs_;
  std::vector<int64_t> ends_;  // ends_[i] = rows in runs 0..i
};

/// The same addresses, of documents that come with their own ends.
Addresses WithOwnEnds(const Addresses& addresses);

/// Renames shards for a stage that repeats or mixes streams.
///
/// The name gets the pass, and the source where the stream has no name for it. Rows of one shard
/// mostly come together, so the last name is kept.
class ShardNames {
 public:
  explicit ShardNames(std::string source = {}) : source_(std::move(source)) {}

  /// From now on documents are closed by this token; nothing: as their shards say.
  void CloseWith(std::optional<int32_t> eos_id) {
    eos_id_ = eos_id;
    shard_ = nullptr;
  }

  /// `shard` in pass `epoch`, or in a later one that it names already; null for null.
  const std::shared_ptr<const ShardRef>& Of(const std::shared_ptr<const ShardRef>& shard,
                                            int64_t epoch);

 private:
  const std::string source_;
  std::optional<int32_t> eos_id_;
  std::shared_ptr<const ShardRef> shard_;  // as the stream names it
  int64_t epoch_ = 0;
  std::shared_ptr<const ShardRef> named_;
};

}  // namespace easydata
