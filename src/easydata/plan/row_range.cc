#include "easydata/plan/row_range.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/plan/limit_plan.h"
#include "easydata/plan/whole_stream.h"
#include "easydata/transform/skip_stage.h"

namespace easydata::plan {
namespace {

class RowsBetweenPlan : public LogicalPlan {
 public:
  RowsBetweenPlan(LogicalPlanPtr input, int64_t begin, std::optional<int64_t> end)
      : input_(std::move(input)), begin_(begin), end_(end) {}

  Result<StreamPlan> Make(const Request& request) const override {
    ARROW_RETURN_NOT_OK(CheckOnlyShard(request, kChosenShard, "chosen rows"));
    Request of_all = request;
    of_all.shards.reset();
    ARROW_ASSIGN_OR_RAISE(StreamPlan rows, input_->Make(of_all));
    if (begin_ > 0) {
      ARROW_ASSIGN_OR_RAISE(rows, SkipPlan(rows, begin_));
    }
    if (!end_.has_value()) return rows;
    return LimitPlan(rows, *end_ - begin_);
  }

  Result<StreamPlan> MakeShuffled(const Request& request,
                                  const source::SourceShuffleOptions& order) const override {
    return ShuffleChosenRows(*this, request, order);
  }

  bool IsAtHand() const override { return input_->IsAtHand(); }

  Result<std::optional<source::FirstRows>> Peek(int64_t num_rows) const override {
    if (begin_ > 0 || (end_.has_value() && *end_ < num_rows)) return std::nullopt;
    return input_->Peek(num_rows);
  }

 private:
  const LogicalPlanPtr input_;
  const int64_t begin_;
  const std::optional<int64_t> end_;
};

}  // namespace

Result<StreamPlan> SkipPlan(const StreamPlan& upstream, int64_t rows) {
  auto node = MakeNode("skip", {{"rows", rows}}, upstream);
  return OfWholeStream(
      std::move(node), upstream,
      {.why_undivided = "a skip of rows",
       .why_no_lanes = "packed rows of which some are skipped cannot be read in lanes; skip "
                       "documents"},
      [rows](const MakeUpstream& make) { return transform::MakeSkipStage(make, rows); });
}

Result<StreamPlan> ShuffleChosenRows(const LogicalPlan& chosen, const Request& request,
                                     const source::SourceShuffleOptions& order) {
  // They have no blocks of their own: "blocks" are rows in a window, too.
  if (order.mode == source::SourceShuffle::kGrain) {
    return Status::Invalid(
        "shuffle(\"grain\") permutes all rows of a source, and these were chosen; use "
        "\"rows\", or shuffle before you choose");
  }
  ARROW_ASSIGN_OR_RAISE(StreamPlan rows, chosen.Make(request));
  return source::ShuffleRows(std::move(rows), order);
}

LogicalPlanPtr RowsBetween(LogicalPlanPtr input, int64_t begin, std::optional<int64_t> end) {
  return std::make_shared<RowsBetweenPlan>(std::move(input), begin, end);
}

}  // namespace easydata::plan
