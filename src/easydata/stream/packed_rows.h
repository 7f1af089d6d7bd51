#pragma once

#include <memory>

#include "easydata/stream/apply_ops.h"
#include "easydata/stream/batch.h"

namespace easydata {

/// Lends packed rows an address each while ops process them: addresses tell which rows an op keeps,
/// and packed rows have spans instead.
class PackedRows {
 public:
  /// Lends `batch`, whose rows are packed, its addresses.
  explicit PackedRows(Batch* batch);

  /// Takes the addresses back from the result of the ops. The spans go with their rows; an error
  /// names the first document of its row, and what was dropped counts for the sources of its
  /// documents.
  void TakeBack(AppliedBatch* applied) const;

 private:
  void CountDropped(Batch* batch) const;

  const std::shared_ptr<const ShardRef> shard_;  // of the addresses that are lent
  const std::shared_ptr<const SpanTable> spans_;
};

}  // namespace easydata
