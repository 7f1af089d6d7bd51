#include "easydata/transform/column_op.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "easydata/base/nearest_name.h"
#include "easydata/stream/map_stage.h"

namespace easydata::transform {

void RenamePaddings(const FieldUse& use, StreamFacts* facts) {
  if (facts->paddings == nullptr || use.renamed.empty()) return;
  auto paddings = std::make_shared<ColumnPaddings>(*facts->paddings);
  for (const auto& [from, to] : use.renamed) paddings->erase(from);
  for (const auto& [from, to] : use.renamed) {
    const auto known = facts->paddings->find(from);
    if (known != facts->paddings->end()) paddings->insert_or_assign(to, known->second);
  }
  facts->paddings = std::move(paddings);
}

Result<const ColumnOpKind*> FindColumnOp(const std::string& name) {
#define EASYDATA_OBJECT(Id) &k##Id##ColumnOp,
  static constexpr const ColumnOpKind* kKinds[] = {EASYDATA_COLUMN_OPS(EASYDATA_OBJECT)};
#undef EASYDATA_OBJECT
  std::vector<std::string> names;
  for (const ColumnOpKind* kind : kKinds) {
    if (name == kind->name) return kind;
    names.emplace_back(kind->name);
  }
  return Status::KeyError("there is no column operation \"", name, "\"", Suggestion(name, names));
}

Result<std::shared_ptr<const BatchOp>> MakeColumnOp(const ColumnOpKind& kind,
                                                    const nlohmann::json& options) {
  try {
    return kind.make(options);
  } catch (const nlohmann::json::exception& error) {
    return Status::Invalid("the options of the column operation \"", kind.name,
                           "\" cannot be read: ", error.what());
  }
}

Result<StreamPlan> ColumnOpPlan(const StreamPlan& upstream, const std::string& name,
                                const nlohmann::json& options) {
  ARROW_ASSIGN_OR_RAISE(const ColumnOpKind* kind, FindColumnOp(name));
  ARROW_ASSIGN_OR_RAISE(auto op, MakeColumnOp(*kind, options));
  auto node = MakeNode(name, options, upstream);
  node->keeps_row_count = op->keeps_rows();
  if (kind->fields != nullptr) RenamePaddings(kind->fields(options), &node->facts);
  return MapPlan(upstream, std::move(op), std::move(node));
}

}  // namespace easydata::transform
