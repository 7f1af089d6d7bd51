#include "easydata/plan/limited.h"

#include <utility>

#include "easydata/plan/concat_plan.h"
#include "easydata/plan/limit_plan.h"

namespace easydata::plan {
namespace {

class LimitedPlan : public LogicalPlan {
 public:
  LimitedPlan(LogicalPlanPtr input, std::vector<std::string> shards, int64_t max_rows,
              RowsWithin rows_within, LogicalPlanPtr rows)
      : input_(std::move(input)),
        shards_(std::move(shards)),
        max_rows_(max_rows),
        rows_within_(std::move(rows_within)),
        rows_(std::move(rows)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    if (!request.shards.has_value() || *request.shards == shards_) {
      Request of_all = request;
      of_all.shards.reset();
      ARROW_ASSIGN_OR_RAISE(const StreamPlan all, input_->Make(of_all));
      return LimitPlan(all, max_rows_);
    }
    std::vector<source::ConcatPart> parts;
    for (const std::string& shard : *request.shards) {
      Request of_shard = request;
      of_shard.shards = {shard};
      ARROW_ASSIGN_OR_RAISE(const StreamPlan all, input_->Make(of_shard));
      ARROW_ASSIGN_OR_RAISE(const int64_t rows, rows_within_(shard));
      ARROW_ASSIGN_OR_RAISE(StreamPlan limited, LimitPlan(all, rows));
      parts.push_back({std::move(limited), {}});
    }
    if (parts.size() == 1) return std::move(parts.front().plan);
    ARROW_ASSIGN_OR_RAISE(auto joined, ConcatInCommonColumns(std::move(parts), request.columns));
    return joined.has_value() ? std::move(*joined) : rows_->Make(request);
  }

  Result<StreamPlan> MakeShuffled(const Request& request,
                                  const source::SourceShuffleOptions& order) const override {
    return rows_->MakeShuffled(request, order);
  }

 private:
  const LogicalPlanPtr input_;
  const std::vector<std::string> shards_;
  const int64_t max_rows_;
  const RowsWithin rows_within_;
  const LogicalPlanPtr rows_;
};

}  // namespace

LogicalPlanPtr Limited(LogicalPlanPtr input, std::vector<std::string> shards, int64_t max_rows,
                       RowsWithin rows_within, LogicalPlanPtr rows) {
  return std::make_shared<LimitedPlan>(std::move(input), std::move(shards), max_rows,
                                       std::move(rows_within), std::move(rows));
}

}  // namespace easydata::plan
