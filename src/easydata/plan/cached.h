#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "easydata/plan/logical_plan.h"
#include "easydata/stream/block_store.h"

namespace easydata::plan {

/// Keeps the rows that `input` makes of each block of its files in `store`, and takes those that
/// are there from it. The rows, their order, the plan's description and its states are those of
/// `input`, whatever is there.
///
/// NotImplemented where `input` is not made block by block of files, as behind a mix or packed
/// rows: the message says where the cache belongs. Where an operator cannot be recognised in
/// another process nothing is kept: WhyNothingIsKept() says so.
Result<LogicalPlanPtr> Cached(LogicalPlanPtr input, std::shared_ptr<BlockStore> store);

/// What a store has of a plan's rows.
struct KeptRows {
  BlockKey::Hash plan = {};
  std::string described;  // what `plan` is the hash of, as JSON
  int64_t blocks = 0;
  int64_t kept_blocks = 0;
  int64_t bytes = 0;       // of the blocks' files
  int64_t kept_bytes = 0;  // of those that are kept
};

/// Why nothing of a plan's rows is kept, and what to do about it; "" where they are.
Result<std::string> WhyNothingIsKept(const LogicalPlan& input);

/// Looks which blocks of the files of `input` are in `store`; reads files' headers and footers.
Result<KeptRows> LookForKept(const LogicalPlan& input, BlockStore* store);

}  // namespace easydata::plan
