#include "easydata/plan/shuffled.h"

#include <utility>

namespace easydata::plan {
namespace {

class ShuffledPlan : public LogicalPlan {
 public:
  ShuffledPlan(LogicalPlanPtr input, source::SourceShuffleOptions order)
      : input_(std::move(input)), order_(order) {}

  Result<StreamPlan> Make(const Request& request) const override {
    ARROW_RETURN_NOT_OK(CheckOnlyShard(request, kShuffledShard, "a shuffled source"));
    Request of_all = request;
    of_all.shards.reset();
    return input_->MakeShuffled(of_all, order_);
  }

  // Files' rows keep their numbers; what shuffles rows itself refuses to number them.
  Result<std::optional<std::vector<ShardRows>>> StatedRows() const override {
    return input_->StatedRows();
  }

  Result<std::optional<std::vector<std::string>>> FirstRowNames() const override {
    return input_->FirstRowNames();
  }

 protected:
  Result<std::vector<std::vector<std::string>>> LookAtForms() const override {
    return input_->FirstForms();
  }

 private:
  const LogicalPlanPtr input_;
  const source::SourceShuffleOptions order_;
};

}  // namespace

LogicalPlanPtr Shuffled(LogicalPlanPtr input, source::SourceShuffleOptions order) {
  return std::make_shared<ShuffledPlan>(std::move(input), order);
}

}  // namespace easydata::plan
