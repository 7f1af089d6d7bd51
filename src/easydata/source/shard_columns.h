#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/column_types.h"
#include "easydata/stream/columns.h"

namespace easydata::source {

class Source;

/// The columns of a source whose shards have columns of their own: the union of those of all.
/// Remembers what each shard has; thread-safe.
class ShardColumns {
 public:
  /// The columns of rows of the source, of which `shards` are read.
  ///
  /// All columns (`columns` unset): those of every shard of the source, in the order in which they
  /// first appear, each of the type that all its values have in common (CommonType); a column that
  /// a shard lacks is nullable. The shards' headers are read at once, on threads that last as long
  /// as this; what cannot be read is passed over here, since reading the shard tells of it in its
  /// place. The first lack that is found is told once (exec::Notify).
  ///
  /// Named columns: as the first of `shards` has them, and no other is looked at, unless it lacks a
  /// column, or has nothing but nulls or fields of structs in it, of which others may have more.
  /// Text and tokens that it lacks are a KeyError at once.
  ///
  /// TypeError where two shards have types of a column that have none in common, and `types` (which
  /// count where reading casts) has none for it: it names both.
  Result<std::shared_ptr<arrow::Schema>> Of(const Source& source, const Columns& columns,
                                            const ColumnTypes& types,
                                            const std::vector<size_t>& shards);

  /// The columns that shard `shard` has, as its file says; remembered.
  Result<std::shared_ptr<arrow::Schema>> OfShard(const Source& source, size_t shard);

  /// The columns of all shards, of which one is looked at last; null for one that cannot be read.
  /// An error where the look was ended.
  Result<std::vector<std::shared_ptr<arrow::Schema>>> OfAll(const Source& source, size_t last = 0);
  /// Spares the look at them: another process of the job has found them.
  void Remember(std::vector<std::shared_ptr<arrow::Schema>> columns);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<arrow::Schema>> known_;  // by shard; equal ones are one
};

}  // namespace easydata::source
