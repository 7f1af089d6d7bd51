#pragma once

#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/stage_timer.h"

namespace easydata {

/// What came of a batch: where `error` is set, `batch` holds the rows before the one that it is
/// about.
struct AppliedBatch {
  Batch batch;  // without rows, where nothing can be said of those before the error
  Status error;
  int64_t rows_before = 0;  // rows of the input before the one that the error is about
};

/// Applies `ops` one after the other. An error about a row (row_error.h) does not take the rows
/// before it along: they are worked on once more by themselves, which the ops, being pure
/// functions, allow.
///
/// The time that each op takes is added to `busy` under the op's name.
AppliedBatch ApplyOps(const std::vector<std::shared_ptr<const BatchOp>>& ops, Batch batch,
                      BusyTimes* busy);

/// Whether each row comes out of all of them as one row.
bool AllKeepRows(const std::vector<std::shared_ptr<const BatchOp>>& ops);

}  // namespace easydata
