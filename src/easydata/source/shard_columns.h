#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/columns.h"

namespace easydata::source {

class Source;

/// The columns of a source whose shards have columns of their own: the union of those of all.
/// Remembers what each shard has; thread-safe.
class ShardColumns {
 public:
  /// The columns of the rows of these shards.
  ///
  /// All columns (`columns` unset): those of every shard, in the order in which they first appear,
  /// each of the type that all its values have in common (CommonType); a column that a shard lacks
  /// is nullable. The shards' headers are read at once, on threads that last as long as this; what
  /// cannot be read is passed over here, since reading the shard tells of it in its place. The
  /// first lack that is found is told once (exec::Notify).
  ///
  /// Named columns: as the first shard has them, and no other is looked at, unless the first one
  /// lacks a column, or has nothing but nulls or fields of structs in it, of which later shards may
  /// have more. Text and tokens that the first shard lacks are a KeyError at once.
  ///
  /// TypeError where two shards have types of a column that have none in common: it names both.
  Result<std::shared_ptr<arrow::Schema>> Of(const Source& source, const Columns& columns,
                                            const std::vector<size_t>& shards);

  /// The columns that shard `shard` has, as its file says; remembered.
  Result<std::shared_ptr<arrow::Schema>> OfShard(const Source& source, size_t shard);

 private:
  /// What each shard has; null where that cannot be read.
  std::vector<std::shared_ptr<arrow::Schema>> LookAt(const Source& source,
                                                     const std::vector<size_t>& shards);

  std::mutex mutex_;
  std::vector<std::shared_ptr<arrow::Schema>> known_;  // by shard; equal ones are one
  bool is_told_ = false;
};

}  // namespace easydata::source
