#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "easydata/plan/logical_plan.h"
#include "easydata/stream/block_store.h"

namespace easydata::plan {

/// Keeps the rows that `input` makes of each block of its files in `store`, and takes those that
/// are there from it. The rows, their order, the plan's description and its states are those of
/// `input`, whatever is there. Where nothing of it can be kept (WhyNothingIsKept), it is `input`.
LogicalPlanPtr Cached(LogicalPlanPtr input, std::shared_ptr<BlockStore> store);

/// Why nothing of a plan's rows can be kept, and what to do about it; "" where it can: its rows are
/// made block by block of files, as they are not behind a mix or in packed rows, and each of its
/// operators can be recognised in another process.
Result<std::string> WhyNothingIsKept(const LogicalPlan& input);

/// Whether whoever reads a plan splits documents itself (Request::whole_documents): other tokens
/// are kept of those.
enum class Documents { kAsTheyAre, kWhole };

/// What tells the operators of a plan from others, without files: it is the same wherever they lie,
/// in whatever order they are read.
struct KeptPlan {
  BlockKey::Hash hash = {};
  std::string described;  // what it is the hash of, as JSON
};

/// What a store has of a plan.
struct FoundRows {
  KeptPlan plan;
  KeptRows rows;

  /// {"plan": 32 hexadecimal digits, "described", "blocks", "kept_blocks", "bytes", "kept_bytes",
  /// "files": [{"name", "blocks", "kept_blocks"}, ...] of which not all is kept}.
  nlohmann::ordered_json ToJson() const;
};

/// Looks which blocks of the files of `input` are in `store`; reads files' headers and footers.
Result<FoundRows> LookForKept(const LogicalPlan& input, Documents documents,
                              std::shared_ptr<BlockStore> store);

}  // namespace easydata::plan
