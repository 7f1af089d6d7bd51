#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"

namespace easydata {

class PiecewiseOp;

/// A pure function of one batch, called by many threads at once: the work of map, filter and
/// tokenize stages.
class BatchOp {
 public:
  virtual ~BatchOp() = default;

  /// The schema of the batches that Apply() makes of batches of schema `input`; an error where a
  /// column is missing or of the wrong type, naming the column, what there is and what was
  /// expected.
  virtual Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const = 0;

  /// Processes one batch. May return fewer, more or no rows; keeps addresses and drop counts in
  /// step. An error about a row is made by RowError() (row_error.h), which carries the row's
  /// address.
  virtual Result<Batch> Apply(Batch batch) const = 0;

  /// Whether each row comes out as one row, whatever is in it.
  virtual bool keeps_rows() const { return false; }

  /// Itself where batches are to be cut for it (piecewise_op.h), else null.
  virtual const PiecewiseOp* piecewise() const { return nullptr; }

  /// The name that its time is reported under.
  virtual const char* name() const { return "transform"; }
};

}  // namespace easydata
