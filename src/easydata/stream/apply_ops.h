#pragma once

#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch_op.h"

namespace easydata {

/// What came of a batch: where `error` is set, `batch` holds the rows before the one that it is
/// about.
struct AppliedBatch {
  Batch batch;
  Status error;
};

/// Applies `ops` one after the other. An error about a row (row_error.h) does not take the rows
/// before it along: they are worked on once more by themselves, which the ops, being pure
/// functions, allow.
AppliedBatch ApplyOps(const std::vector<std::shared_ptr<const BatchOp>>& ops, Batch batch);

}  // namespace easydata
