#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/named_value.h"
#include "easydata/base/status.h"
#include "easydata/config/field.h"
#include "easydata/source/shard_columns.h"
#include "easydata/source/shard_identity.h"
#include "easydata/source/shard_reader.h"
#include "easydata/stream/columns.h"
#include "easydata/stream/stage.h"

namespace easydata::files {
class FileSystems;
}  // namespace easydata::files

namespace easydata::source {

/// Decides what becomes of a row that does not parse, is not UTF-8 or has a field of a wrong type.
enum class OnError { kRaise, kSkip, kQuarantine };

std::span<const NamedValue<OnError>> NamesOf(OnError);

/// What is wrong with a quarantine_path that is given or not beside `on_error` and `on_missing`; ""
/// for nothing.
std::string QuarantinePathProblem(OnError on_error, OnError on_missing, bool is_given);
/// The same as a status: Invalid.
Status CheckOnError(OnError on_error, OnError on_missing, bool has_quarantine_path);

/// What becomes of what cannot be read.
struct ErrorPolicy {
  static constexpr const char* kName = "ErrorPolicy";
  static constexpr const char* kDoc = "What becomes of rows and files that cannot be read.";
  static constexpr const char* kNodes[] = {"source"};

  OnError on_error = OnError::kRaise;
  /// Of shards that cannot be opened or read to their end, after all attempts, or that are others
  /// by now: with kSkip and kQuarantine what is left of such a shard is left out.
  OnError on_missing = OnError::kRaise;
  /// With kQuarantine: a file to which each row left out is added as a line of JSON; shards that
  /// are left out go to one beside it (LostShardsPath).
  std::optional<std::string> quarantine_path;

  static config::FieldList Fields();

  /// The path, or "" for none.
  std::string path() const { return quarantine_path.value_or(""); }
  /// Whether nothing is left out.
  bool raises() const { return on_error == OnError::kRaise && on_missing == OnError::kRaise; }
  Status Validate() const { return CheckOnError(on_error, on_missing, !path().empty()); }
};

/// "Read on to the shard's end."
inline constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

/// What a look ahead does without.
struct Look {
  /// A block ends behind so many rows where its format can tell them without decoding all.
  int64_t most_rows = 0;
  /// Rows of JSON that have the same fields as one before (JsonForms) are left out of the block's
  /// rows where that saves decoding them.
  bool one_of_each_form = false;
};

struct ReadOptions {
  Columns columns;
  OnError on_error = OnError::kRaise;
  /// The number of the block (Source::ListBlocks) to stop before.
  int64_t end_at = kToTheEnd;
  std::optional<Look> look = std::nullopt;
};

/// The blocks of a shard: row groups, record batches or chunks of lines, numbered from 0, each of
/// which can be read by itself: from ShardPosition::at = i to ReadOptions::end_at = i + 1. One
/// block is the shard as a whole.
struct Blocks {
  int64_t count = 1;
  /// Rows of the shard before each block, and all of them: count + 1 numbers. Empty where only
  /// reading would tell; then rows of a block count from its begin.
  std::vector<int64_t> row_starts;
  /// Where row_starts is empty, block i has the rows that begin at byte i * bytes or after it.
  int64_t bytes = 0;
};

/// What a reader needs to know of its pass.
struct ReadContext {
  /// Null: the thread that reads does all the work, and nothing is read ahead.
  std::shared_ptr<exec::ThreadPool> pool;
  /// Adds to the bytes read from files; any thread.
  std::function<void(int64_t)> count_bytes;
  /// Whether a pass comes after this reading, which may use the same open file.
  bool is_look = false;
};

/// The first rows of a source.
struct FirstRows {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  int64_t num_rows = 0;
  /// False where more rows may follow, or an error: reading the source tells.
  bool is_all = false;
};

/// Copies one row of a batch, which keeps no memory of the others.
Result<std::shared_ptr<arrow::RecordBatch>> CopyOfRow(const arrow::RecordBatch& batch, int64_t row);

/// Data in shards (files, mostly) that can be read from any row on. Immutable but for a cache of
/// facts about its files; thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  /// Names of the shards, distinct, in reading order.
  virtual const std::vector<std::string>& shard_names() const = 0;

  /// What its files are reached by; null for what is in no files.
  virtual std::shared_ptr<const files::FileSystems> storage() const { return nullptr; }

  /// The schema that a reader of these columns of shard `shard` gives. May read a file's header;
  /// KeyError where a typed source lacks a column, with its near misses. No shards: any number
  /// does.
  virtual Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                        size_t shard) const = 0;

  /// Whether each shard has columns of its own, which its file states: Schema() reads its header or
  /// footer, and ColumnsOfShards() finds those of all.
  virtual bool has_file_columns() const { return false; }

  /// Whether its readers cast columns to the types of the schema that they are given, and may be
  /// given other types than their files have. Where not, what is downstream casts.
  virtual bool casts_columns() const { return false; }

  /// The columns of rows of which these shards are read, one at least: ShardColumns::Of. `is_look`:
  /// of the first of them alone.
  Result<std::shared_ptr<arrow::Schema>> ColumnsOfShards(const Columns& columns,
                                                         const ColumnTypes& types,
                                                         const std::vector<size_t>& shards,
                                                         bool is_look) const;

  /// The columns of all shards that have some of their own (ShardColumns::OfAll), and what another
  /// process found of the same ones.
  Result<std::vector<std::shared_ptr<arrow::Schema>>> ColumnsOfAll() const;
  void RememberColumns(std::vector<std::shared_ptr<arrow::Schema>> columns) const;

  /// Opens a reader of shard `shard` (an index into shard_names()) from `from` on; its rows have
  /// the columns of `schema`, which is what Schema() or ColumnsOfShards() returned. What the shard
  /// lacks of them is null; KeyError where that is text or tokens that `options` ask for.
  virtual Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                                    const ReadOptions& options,
                                                    std::shared_ptr<arrow::Schema> schema,
                                                    const ReadContext& context) const = 0;

  /// What the file of shard `shard` says of the vocabulary of its tokens (kVocabularyKey); "" where
  /// it says nothing, or is of a format that cannot. Reads what Schema() does.
  virtual Result<std::string> VocabularyText(size_t shard) const { return std::string(); }

  /// What tells the rows of a shard from those of all others, for whoever keeps them; nothing where
  /// nothing does, as of rows in memory. May read a little of the file; remembered.
  virtual Result<std::optional<ShardIdentity>> Identity(size_t shard) const { return std::nullopt; }

  /// Whether text comes as the file has it, not yet checked to be UTF-8.
  virtual bool has_unchecked_text() const { return false; }

  /// Bytes of a shard's file, as it was listed; nothing where that says nothing.
  virtual std::optional<int64_t> KnownBytes(size_t shard) const { return std::nullopt; }

  /// Rows of a shard, where the file states them.
  virtual Result<std::optional<int64_t>> KnownRows(size_t shard) const = 0;

  /// Rows of a shard, counted without parsing where it must be; remembered.
  virtual Result<int64_t> CountRows(size_t shard, const ReadContext& context) const = 0;

  /// Lists the blocks of a shard; reads a file's header or footer at most. By default there is one.
  virtual Result<Blocks> ListBlocks(size_t shard) const { return Blocks{}; }

  /// The same with row_starts; counts rows where it must.
  virtual Result<Blocks> CountBlocks(size_t shard, const ReadContext& context) const;

  /// Reads the first `num_rows` rows of the source, with all columns; fewer where there are fewer,
  /// or where a row cannot be read (kSkip and kQuarantine leave it out). Runs on this thread. The
  /// first row is remembered, and the file that it is in stays open for the pass that comes.
  Result<FirstRows> Peek(int64_t num_rows, OnError on_error) const;

  /// The same but for rows of which one before has the same fields: they are counted, and may be
  /// left out.
  Result<FirstRows> PeekForms(int64_t num_rows, OnError on_error) const;

  /// Whether single rows are found without reading their blocks: TakeRows().
  virtual bool takes_rows() const { return false; }

  /// Reads rows of a shard by their numbers, which ascend: the others of their blocks are left
  /// alone. One that cannot be read is an error at its address, which has `ref`.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(
      size_t shard, const std::shared_ptr<const ShardRef>& ref, std::span<const int64_t> rows,
      const ReadOptions& options, const std::shared_ptr<arrow::Schema>& schema,
      const ReadContext& context) const {
    return Status::NotImplemented("the format has no rows to take");
  }

  /// What determines the rows: {"kind": ..., "files": ..., ...}; files are described as they were
  /// listed, without I/O.
  virtual nlohmann::json Describe() const = 0;

 private:
  mutable std::mutex peeked_mutex_;
  mutable std::optional<FirstRows> peeked_raise_;  // one row, as on_error says
  mutable std::optional<FirstRows> peeked_skip_;
  mutable ShardColumns shard_columns_;
};

}  // namespace easydata::source
