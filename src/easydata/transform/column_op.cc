#include "easydata/transform/column_op.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "easydata/base/nearest_name.h"
#include "easydata/stream/map_stage.h"

namespace easydata::transform {

Result<StreamPlan> ColumnOpPlan(const StreamPlan& upstream, const std::string& name,
                                const nlohmann::json& options) {
#define EASYDATA_OBJECT(Id) &k##Id##ColumnOp,
  static constexpr const ColumnOpKind* kKinds[] = {EASYDATA_COLUMN_OPS(EASYDATA_OBJECT)};
#undef EASYDATA_OBJECT
  std::vector<std::string> names;
  for (const ColumnOpKind* kind : kKinds) {
    if (name != kind->name) {
      names.emplace_back(kind->name);
      continue;
    }
    std::shared_ptr<const BatchOp> op;
    try {
      ARROW_ASSIGN_OR_RAISE(op, kind->make(options));
    } catch (const nlohmann::json::exception& error) {
      return Status::Invalid("the options of the column operation \"", name,
                             "\" cannot be read: ", error.what());
    }
    auto node = MakeNode(name, options, upstream);
    node->keeps_row_count = op->keeps_rows();
    return MapPlan(upstream, std::move(op), std::move(node));
  }
  return Status::KeyError("there is no column operation \"", name, "\"", Suggestion(name, names));
}

}  // namespace easydata::transform
