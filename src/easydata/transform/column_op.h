#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "easydata/stream/batch_op.h"
#include "easydata/stream/plan.h"

/// Lists the operations on columns: OP(Id) for each. It is the only list of them; kIdColumnOp,
/// which is declared here, stands beside the operation's code.
#define EASYDATA_COLUMN_OPS(OP) \
  OP(Select) OP(Drop) OP(Rename) OP(FilterNonEmpty) OP(AddField) OP(EndDocuments) OP(LlmRows)

namespace easydata::transform {

/// An operation on columns, as plans and Python know it.
struct ColumnOpKind {
  /// What a plan calls it; saved states have it.
  const char* name;
  /// Makes it of its options, which a plan prints as they are. Throws what nlohmann::json throws
  /// where one is missing or of a wrong type; Invalid where one cannot be.
  Result<std::shared_ptr<const BatchOp>> (*make)(const nlohmann::json& options);
};

#define EASYDATA_DECLARATION(Id) extern const ColumnOpKind k##Id##ColumnOp;
EASYDATA_COLUMN_OPS(EASYDATA_DECLARATION)
#undef EASYDATA_DECLARATION

/// Puts the operation `name` downstream of `upstream`. KeyError where there is none of that name,
/// Invalid where its options cannot be read.
Result<StreamPlan> ColumnOpPlan(const StreamPlan& upstream, const std::string& name,
                                const nlohmann::json& options);

}  // namespace easydata::transform
