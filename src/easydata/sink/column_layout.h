#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"

namespace easydata {

/// Brings a stream's batches into the columns that are written: lists of one length become lists,
/// dictionaries their values. Thread-safe.
class ColumnLayout {
 public:
  virtual ~ColumnLayout() = default;

  /// The columns that are written.
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Convert(const Batch& batch) const = 0;
};

/// The layout of a stream whose columns all have a type.
Result<std::unique_ptr<ColumnLayout>> MakeTypedLayout(const std::shared_ptr<arrow::Schema>& input);

/// Tokens in a batch: values of `input_ids` that `attention_mask`, where there is one, does not
/// leave out; 0 where there is no column `input_ids` of lists of integers.
int64_t CountTokens(const arrow::RecordBatch& batch);

}  // namespace easydata
