#include "easydata/plan/selected_rows.h"

#include <utility>

#include "easydata/plan/row_range.h"
#include "easydata/source/grain_order_stage.h"

namespace easydata::plan {
namespace {

class SelectedRowsPlan : public LogicalPlan {
 public:
  SelectedRowsPlan(std::shared_ptr<const source::Source> source, std::string name,
                   std::vector<int64_t> numbers, std::optional<std::vector<std::string>> columns)
      : source_(std::move(source)),
        name_(std::move(name)),
        numbers_(std::make_shared<const std::vector<int64_t>>(std::move(numbers))),
        columns_(std::move(columns)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    ARROW_RETURN_NOT_OK(CheckOnlyShard(request, kChosenShard, "selected rows"));
    source::GrainOrderOptions options;
    options.name = name_;
    options.columns = request.columns;
    if (columns_.has_value() && !options.columns.has_value()) {
      options.columns.emplace();
      for (const std::string& name : *columns_) options.columns->push_back({name});
    }
    return source::SelectedRowsPlan(source_, std::move(options), numbers_);
  }

  Result<StreamPlan> MakeShuffled(const Request& request,
                                  const source::SourceShuffleOptions& order) const override {
    return ShuffleChosenRows(*this, request, order);
  }

 private:
  const std::shared_ptr<const source::Source> source_;
  const std::string name_;
  const std::shared_ptr<const std::vector<int64_t>> numbers_;
  const std::optional<std::vector<std::string>> columns_;
};

}  // namespace

LogicalPlanPtr SelectedRows(std::shared_ptr<const source::Source> source, std::string name,
                            std::vector<int64_t> numbers,
                            std::optional<std::vector<std::string>> columns) {
  return std::make_shared<SelectedRowsPlan>(std::move(source), std::move(name), std::move(numbers),
                                            std::move(columns));
}

}  // namespace easydata::plan
