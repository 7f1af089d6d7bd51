#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/source_stage.h"
#include "easydata/stream/columns.h"
#include "easydata/stream/plan.h"

namespace easydata::plan {

/// What is asked of a logical plan.
struct Request {
  /// The columns that are read, and in which form; all by default.
  Columns columns;
  /// The shards to read, in this order; all by default.
  std::optional<std::vector<std::string>> shards;
  /// Rows to pass over in the first of these shards without reading or making them; 0 where
  /// !CanSeek().
  int64_t start_row = 0;
  /// Documents that nobody said to cut come whole: the consumer splits them.
  bool whole_documents = false;
  /// Rows have their numbers in their files, in whatever order they come: a consumer tells rows by
  /// these.
  bool numbers_rows = false;
  /// A look ahead: rows and files that cannot be read are left out where they would be, but nothing
  /// is logged or put aside.
  bool is_look = false;
};

/// A shard, and the number of its rows.
struct ShardRows {
  std::string shard;
  int64_t rows = 0;
};

/// A source as the user described it, or what makes rows of those of other plans. Immutable.
///
/// It makes the stream of what a consumer asks for, so that files are read no wider than needed. A
/// node passes on what its inputs have to know of a request, and nothing else knows how its stream
/// is made. No thread is started; files are opened where they alone know what is asked.
class LogicalPlan {
 public:
  virtual ~LogicalPlan() = default;

  virtual Result<StreamPlan> Make(const Request& request) const = 0;

  /// Makes the same rows, all of them, in a random order of each epoch. NotImplemented where they
  /// can be read in no other order.
  virtual Result<StreamPlan> MakeShuffled(const Request& request,
                                          const source::SourceShuffleOptions& order) const;

  /// Whether a request may start at any row of a shard.
  virtual bool CanSeek() const { return false; }

  /// Whether many of its rows can be looked at for next to nothing.
  virtual bool IsAtHand() const { return false; }

  /// The shards in which rows are addressed, and how many each has, where all of them state it
  /// without being read and none of them is left out; nothing else.
  virtual Result<std::optional<std::vector<ShardRows>>> StatedRows() const { return std::nullopt; }

  /// Names of the columns of the first rows, those of one file; nothing where rows have no schema.
  /// They are looked for once.
  Result<std::optional<std::vector<std::string>>> ColumnNames() const;

  /// The same of all rows: what files there are is read of, each once.
  Result<std::optional<std::vector<std::string>>> AllColumnNames() const;

  /// Names of the fields of the first row; nothing where there is no row. It is read, on this
  /// thread where the plan knows how, and read again by the stream.
  virtual Result<std::optional<std::vector<std::string>>> FirstRowNames() const;

  /// Names of the fields that the first rows have, each form of rows once: of as many rows as are
  /// at hand at once, 1,000 at most, and of one where none is. They are looked for once; fields
  /// that hold null are not named.
  Result<std::vector<std::vector<std::string>>> FirstForms() const;

  /// Of the rows of FirstForms() the first of each form, as batches of one row; rows of which other
  /// fields say something are of another form here. Nothing where the plan must be read to know
  /// them.
  Result<std::optional<std::vector<std::shared_ptr<arrow::RecordBatch>>>> FirstRowsOfForms() const;

  /// The first rows up to one that cannot be read, on this thread; nothing where the plan must be
  /// read to know them.
  virtual Result<std::optional<source::FirstRows>> Peek(int64_t num_rows) const;

  /// The same but for rows that have the same fields as one before: they may be left out.
  virtual Result<std::optional<source::FirstRows>> PeekForms(int64_t num_rows) const;

  /// Names of the fields that all rows have; of rows without a schema, those of the first one.
  virtual Result<std::vector<std::string>> FieldNames() const;

 protected:
  /// So many rows are looked at to know the others by.
  static constexpr int64_t kLookedAt = 1000;

  /// What FirstForms() gives, perhaps some of it several times. Called under forms_mutex_.
  virtual Result<std::vector<std::vector<std::string>>> LookAtForms() const;

  /// The schema of all rows; `is_look`: of the first ones.
  virtual Result<std::shared_ptr<arrow::Schema>> Schema(bool is_look) const;

 private:
  using Names = std::optional<std::vector<std::string>>;

  Result<Names> RememberNames(bool is_look, std::optional<Names>* known) const;

  mutable std::mutex mutex_;
  mutable std::optional<Names> column_names_;
  mutable std::optional<Names> all_column_names_;
  mutable std::mutex forms_mutex_;
  mutable std::optional<std::vector<std::vector<std::string>>> forms_;
  mutable std::optional<std::vector<std::shared_ptr<arrow::RecordBatch>>> rows_of_forms_;
};

using LogicalPlanPtr = std::shared_ptr<const LogicalPlan>;

/// Names of the fields of a row of a batch, which may be one of JSON.
Result<std::vector<std::string>> FieldsOfRow(const arrow::RecordBatch& rows, int64_t row);

/// KeyError where other shards are asked for than the only one, `name`, of `what` ("packed rows").
Status CheckOnlyShard(const Request& request, std::string_view name, std::string_view what);

}  // namespace easydata::plan
