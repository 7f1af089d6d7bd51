#include "easydata/plan/concatenated.h"

#include <algorithm>
#include <utility>

#include "easydata/plan/concat_plan.h"

namespace easydata::plan {
namespace {

class ConcatenatedPlan : public LogicalPlan {
 public:
  ConcatenatedPlan(std::vector<LogicalPlanPtr> inputs, std::vector<ConcatenatedShard> shards,
                   LogicalPlanPtr rows, JoinOptions join)
      : inputs_(std::move(inputs)),
        shards_(std::move(shards)),
        rows_(std::move(rows)),
        join_{join.vocabularies, ToldOnce(std::move(join.notice))} {}

  Result<StreamPlan> Make(const Request& request) const override {
    std::vector<const ConcatenatedShard*> asked;
    if (!request.shards.has_value()) {
      for (const ConcatenatedShard& shard : shards_) asked.push_back(&shard);
    } else {
      for (const std::string& name : *request.shards) {
        const auto found = std::find_if(shards_.begin(), shards_.end(),
                                        [&](const auto& shard) { return shard.name == name; });
        if (found == shards_.end()) {
          return Status::KeyError("there is no shard ", name, " in this composite");
        }
        asked.push_back(&*found);
      }
    }
    std::vector<source::ConcatPart> parts;
    // Shards of one input that follow each other are one part.
    for (size_t begin = 0, end = 0; begin < asked.size(); begin = end) {
      Request of_part = request;
      of_part.shards.emplace();
      source::ConcatPart part;
      for (; end < asked.size() && asked[end]->input == asked[begin]->input; ++end) {
        of_part.shards->push_back(asked[end]->input_name);
        if (asked[end]->name == asked[end]->input_name) continue;
        part.shard_names[asked[end]->input_name] = asked[end]->name;
      }
      part.name = "sources[" + std::to_string(asked[begin]->input) + "]";
      ARROW_ASSIGN_OR_RAISE(part.plan, inputs_[asked[begin]->input]->Make(of_part));
      parts.push_back(std::move(part));
    }
    ARROW_ASSIGN_OR_RAISE(auto joined,
                          ConcatInCommonColumns(std::move(parts), request.columns, join_));
    return joined.has_value() ? std::move(*joined) : rows_->Make(request);
  }

 private:
  const std::vector<LogicalPlanPtr> inputs_;
  const std::vector<ConcatenatedShard> shards_;
  const LogicalPlanPtr rows_;
  const JoinOptions join_;
};

}  // namespace

LogicalPlanPtr Concatenated(std::vector<LogicalPlanPtr> inputs,
                            std::vector<ConcatenatedShard> shards, LogicalPlanPtr rows,
                            JoinOptions join) {
  return std::make_shared<ConcatenatedPlan>(std::move(inputs), std::move(shards), std::move(rows),
                                            std::move(join));
}

}  // namespace easydata::plan
