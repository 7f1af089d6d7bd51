#include "easydata/plan/mixed.h"

#include <set>
#include <utility>

#include "easydata/mix/mix_stage.h"

namespace easydata::plan {
namespace {

class MixedPlan : public LogicalPlan {
 public:
  MixedPlan(std::vector<LogicalPlanPtr> inputs, mix::MixOptions options, NoticeFunction notice)
      : inputs_(std::move(inputs)),
        options_(std::move(options)),
        notice_(ToldOnce(std::move(notice))) {}

  Result<StreamPlan> Make(const Request& request) const override {
    ARROW_RETURN_NOT_OK(CheckOnlyShard(request, kMixedShard, "a mixture"));
    ARROW_ASSIGN_OR_RAISE(const auto columns, ColumnsOfInputs(request.columns));
    std::vector<StreamPlan> plans;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Request of_input = request;
      of_input.shards.reset();
      of_input.columns = columns[i];
      ARROW_ASSIGN_OR_RAISE(plans.emplace_back(), inputs_[i]->Make(of_input));
    }
    mix::MixWiring wiring;
    // What is looked ahead at is asked for once more.
    if (!request.is_look) wiring.notice = notice_;
    wiring.add_source =
        !request.columns.has_value() || FindColumn(*request.columns, mix::kSourceColumn) != nullptr;
    return mix::MixPlan(plans, options_, wiring);
  }

  Result<std::vector<std::string>> FieldNames() const override {
    std::set<std::string> names;
    for (const LogicalPlanPtr& input : inputs_) {
      ARROW_ASSIGN_OR_RAISE(const auto of_input, input->FieldNames());
      names.insert(of_input.begin(), of_input.end());
    }
    return std::vector<std::string>(names.begin(), names.end());
  }

 private:
  /// The columns to ask each input for: one that it lacks and another has is null in its rows.
  Result<std::vector<Columns>> ColumnsOfInputs(const Columns& asked) const {
    if (!asked.has_value()) return std::vector<Columns>(inputs_.size());
    std::vector<ColumnRequest> wanted;
    for (const ColumnRequest& column : *asked) {
      if (column.name != mix::kSourceColumn) wanted.push_back(column);
    }
    const std::string counted = mix::MixWiring().token_column;
    if (options_.unit == mix::MixUnit::kTokens && FindColumn(wanted, counted) == nullptr) {
      wanted.push_back({counted, ColumnKind::kTokens});
    }
    std::vector<std::optional<std::set<std::string>>> known;
    std::set<std::string> somewhere;
    bool all_known = true;
    for (const LogicalPlanPtr& input : inputs_) {
      ARROW_ASSIGN_OR_RAISE(auto names, input->ColumnNames());
      // A column that the first file lacks may be in another.
      if (names.has_value() && std::ranges::any_of(wanted, [&](const ColumnRequest& column) {
            return std::ranges::find(*names, column.name) == names->end();
          })) {
        ARROW_ASSIGN_OR_RAISE(names, input->AllColumnNames());
      }
      all_known = all_known && names.has_value();
      known.emplace_back();
      if (!names.has_value()) continue;
      known.back().emplace(names->begin(), names->end());
      somewhere.insert(names->begin(), names->end());
    }
    std::vector<Columns> out;
    for (const auto& names : known) {
      out.emplace_back(std::in_place);
      for (const ColumnRequest& column : wanted) {
        // One that no input has is asked of all: their error says which column it is.
        const bool is_elsewhere = !all_known || somewhere.contains(column.name);
        if (names.has_value() && !names->contains(column.name) && is_elsewhere) continue;
        out.back()->push_back(column);
      }
    }
    return out;
  }

  const std::vector<LogicalPlanPtr> inputs_;
  const mix::MixOptions options_;
  const NoticeFunction notice_;
};

}  // namespace

LogicalPlanPtr Mixed(std::vector<LogicalPlanPtr> inputs, mix::MixOptions options,
                     NoticeFunction notice) {
  return std::make_shared<MixedPlan>(std::move(inputs), std::move(options), std::move(notice));
}

}  // namespace easydata::plan
