#pragma once

#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/stage_timer.h"

namespace easydata {

/// The result of ApplyOps(): where `error` is set, `batch` holds the rows before the one that it is
/// about.
struct AppliedBatch {
  Batch batch;  // without rows, where those before the error are not known
  Status error;
  int64_t rows_before = 0;  // rows of the input before the one that the error is about
};

/// Applies `ops` one after the other. An error about a row (row_error.h) does not lose the rows
/// before it: they are processed once more by themselves, which the ops, being pure functions,
/// allow.
///
/// The time that each op takes is added to `busy` under the op's name.
AppliedBatch ApplyOps(const std::vector<std::shared_ptr<const BatchOp>>& ops, Batch batch,
                      BusyTimes* busy);

/// The same for pieces of a batch that follow each other, up to the first that has an error. Only
/// the first of the ops may be one that works in pieces: it is given all of them together.
std::vector<AppliedBatch> ApplyOpsToPieces(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                           std::vector<Batch> pieces, BusyTimes* busy);

/// ApplyOps() of any ops: what one of them works on in pieces is cut for it, and joined again.
AppliedBatch ApplyOpsToWhole(const std::vector<std::shared_ptr<const BatchOp>>& ops, Batch batch,
                             BusyTimes* busy);

/// Whether each row comes out of all of them as one row.
bool AllKeepRows(const std::vector<std::shared_ptr<const BatchOp>>& ops);

}  // namespace easydata
