#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "easydata/stream/batch_op.h"
#include "easydata/stream/plan.h"
#include "easydata/transform/project_columns.h"

namespace easydata {

/// An op on whole columns, with its name and options in a plan.
struct ColumnOperator {
  std::string name;
  std::shared_ptr<const nlohmann::json> options;
  std::shared_ptr<const BatchOp> op;
};

/// See SelectColumns().
ColumnOperator Select(std::vector<std::string> names);
/// See DropColumns().
ColumnOperator Drop(std::vector<std::string> names);
/// See RenameColumns().
ColumnOperator Rename(std::vector<std::pair<std::string, std::string>> names, NameClash clash);
/// See FilterNonEmpty().
ColumnOperator NonEmpty(std::vector<std::string> names);
/// See AddConstant().
ColumnOperator Constant(std::string name, const nlohmann::json& value);

/// Puts a column operator downstream of `upstream`.
StreamPlan ApplyPlan(const StreamPlan& upstream, const ColumnOperator& column_operator);

}  // namespace easydata
