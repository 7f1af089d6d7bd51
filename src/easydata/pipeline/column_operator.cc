#include "easydata/pipeline/column_operator.h"

#include <nlohmann/json.hpp>

#include "easydata/stream/map_stage.h"
#include "easydata/transform/add_constant.h"
#include "easydata/transform/filter_non_empty.h"

namespace easydata {
namespace {

ColumnOperator Operator(std::string name, nlohmann::json options,
                        std::shared_ptr<const BatchOp> op) {
  return {std::move(name), std::make_shared<const nlohmann::json>(std::move(options)),
          std::move(op)};
}

}  // namespace

ColumnOperator Select(std::vector<std::string> names) {
  nlohmann::json options = {{"fields", names}};
  return Operator("select", std::move(options), SelectColumns(std::move(names)));
}

ColumnOperator Drop(std::vector<std::string> names) {
  nlohmann::json options = {{"fields", names}};
  return Operator("drop", std::move(options), DropColumns(std::move(names)));
}

ColumnOperator Rename(std::vector<std::pair<std::string, std::string>> names, NameClash clash) {
  nlohmann::json options = {{"fields", names}};
  if (clash == NameClash::kRenamedWins) options["renamed_wins"] = true;
  return Operator("rename", std::move(options), RenameColumns(std::move(names), clash));
}

ColumnOperator NonEmpty(std::vector<std::string> names) {
  nlohmann::json options = {{"fields", names}};
  return Operator("filter_non_empty", std::move(options), FilterNonEmpty(std::move(names)));
}

ColumnOperator Constant(std::string name, const nlohmann::json& value) {
  nlohmann::json options = {{"field", name}, {"value", value}};
  return Operator("add_field", std::move(options), AddConstant(std::move(name), value));
}

StreamPlan ApplyPlan(const StreamPlan& upstream, const ColumnOperator& column_operator) {
  auto node = MakeNode(column_operator.name, *column_operator.options, upstream);
  node->keeps_row_count = column_operator.op->keeps_rows();
  return MapPlan(upstream, column_operator.op, std::move(node));
}

}  // namespace easydata
