#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "easydata/stream/batch_op.h"
#include "easydata/stream/plan.h"
#include "easydata/transform/field_use.h"

/// Lists the operations on columns: OP(Id) for each. It is the only list of them; kIdColumnOp,
/// which is declared here, stands beside the operation's code.
#define EASYDATA_COLUMN_OPS(OP) \
  OP(Select)                    \
  OP(Drop) OP(Rename) OP(Cast) OP(FilterNonEmpty) OP(AddField) OP(EndDocuments) OP(LlmRows)

namespace easydata::transform {

/// An operation on columns, as plans and Python know it.
struct ColumnOpKind {
  /// What a plan calls it; saved states have it.
  const char* name;
  /// Makes it of its options, which a plan prints as they are. Throws what nlohmann::json throws
  /// where one is missing or of a wrong type; Invalid where one cannot be.
  Result<std::shared_ptr<const BatchOp>> (*make)(const nlohmann::json& options);
  /// Which fields it reads and gives; null: it may read all.
  FieldUse (*fields)(const nlohmann::json& options) = nullptr;
  /// Whether what comes out of rows with these fields depends on the order that a row has them in,
  /// which columns without a schema do not tell; null: never.
  bool (*depends_on_order)(const nlohmann::json& options,
                           const std::vector<std::string>& names) = nullptr;
  /// Whether it does its work in whole rows of JSON (json::kRowColumn), too.
  bool takes_whole_rows = false;
};

#define EASYDATA_DECLARATION(Id) extern const ColumnOpKind k##Id##ColumnOp;
EASYDATA_COLUMN_OPS(EASYDATA_DECLARATION)
#undef EASYDATA_DECLARATION

/// Gives the paddings of columns that a step renames to their new names.
void RenamePaddings(const FieldUse& use, StreamFacts* facts);

/// The operation of a name. KeyError where there is none.
Result<const ColumnOpKind*> FindColumnOp(const std::string& name);

/// Makes an operation. Invalid where its options cannot be read.
Result<std::shared_ptr<const BatchOp>> MakeColumnOp(const ColumnOpKind& kind,
                                                    const nlohmann::json& options);

/// Puts the operation `name` downstream of `upstream`. KeyError where there is none of that name,
/// Invalid where its options cannot be read.
Result<StreamPlan> ColumnOpPlan(const StreamPlan& upstream, const std::string& name,
                                const nlohmann::json& options);

}  // namespace easydata::transform
