#include "easydata/plan/example_plan.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/forwarding_stage.h"
#include "easydata/stream/map_stage.h"
#include "easydata/transform/tokenize_op.h"

namespace easydata::plan {
namespace {

/// What it means that rows were left out for a reason.
std::string Explained(const std::string& reason) {
  if (reason == trainer::kNoLossReason) return "nothing of it is trained on";
  if (reason == trainer::kLongPromptReason) return "its prompt fills all the tokens there may be";
  if (reason == trainer::kTooLongReason) return "it has more tokens than there may be";
  if (reason == trainer::kEmptyAnswerReason) return "its answer says nothing";
  return "it is in error: " + reason;
}

/// Forwards batches, and refuses a pass of which no row comes out.
class NoExamplesStage : public ForwardingStage {
 public:
  NoExamplesStage(std::unique_ptr<Stage> upstream, std::string or_fewer_lanes)
      : ForwardingStage(std::move(upstream)), or_fewer_lanes_(std::move(or_fewer_lanes)) {}

  Status Restore(const nlohmann::json& cursor) override {
    is_whole_ = false;
    return ForwardingStage::Restore(cursor);
  }
  Result<bool> Seek(int64_t row) override {
    is_whole_ = is_whole_ && row == 0;
    return ForwardingStage::Seek(row);
  }

  Result<std::optional<Batch>> Next() override {
    ARROW_RETURN_NOT_OK(error_);
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream()->Next());
    if (!is_whole_) return batch;
    if (!batch.has_value()) {
      error_ = Refusal();
      ARROW_RETURN_NOT_OK(error_);
      return std::nullopt;
    }
    for (const DropCount& count : batch->dropped) {
      if (count.reason == transform::kTruncatedReason) continue;
      left_[count.reason] += count.rows;
      source_ = count.source;
    }
    // From the first example on there is nothing to refuse.
    is_whole_ = batch->num_rows() == 0;
    return batch;
  }

 private:
  Status Refusal() const {
    int64_t rows = 0;
    const std::pair<const std::string, int64_t>* most = nullptr;
    for (const auto& each : left_) {
      rows += each.second;
      if (most == nullptr || each.second > most->second) most = &each;
    }
    if (most == nullptr) return Status::OK();
    return Status::Invalid(
        "none of the ", rows, " rows", source_.empty() ? "" : " of dataset '" + source_ + "'",
        " gives an example: of ", most->second, ", ", Explained(most->first),
        "; look at one by `easydata inspect --mask` or the transform's explain()", or_fewer_lanes_);
  }

  const std::string or_fewer_lanes_;
  bool is_whole_ = true;
  Status error_ = Status::OK();
  std::map<std::string, int64_t> left_;
  std::string source_;
};

}  // namespace

StreamPlan WithoutExamplesAnError(StreamPlan plan) {
  plan.make =
      [make = std::move(plan.make)](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    return std::make_unique<NoExamplesStage>(std::move(stage), context.OrFewerLanes());
  };
  return plan;
}

StreamPlan ExamplePlan(const StreamPlan& upstream,
                       std::shared_ptr<const trainer::ExampleMaker> maker,
                       std::shared_ptr<const trainer::ExampleContext> context,
                       trainer::ExampleOpOptions options, const std::string& template_hash,
                       CutCallback on_cuts) {
  nlohmann::json described = maker->described();
  described["kind"] = maker->name();
  described["tokenizer"] = context->encoder->fingerprint();
  described["chat_template"] = template_hash;
  auto node = MakeNode("examples", described, upstream);
  node->tokenizer = context->encoder->fingerprint();
  node->facts.is_padded = maker->is_padded();
  node->facts.paddings =
      JoinedPaddings(std::make_shared<const ColumnPaddings>(maker->paddings(context->tokens)),
                     upstream.facts().paddings);
  node->facts.vocabularies = AllOf(context->vocabulary);
  auto op = trainer::ExampleOp(std::move(maker), std::move(context), std::move(options));
  return WithCutNotices(MapPlan(upstream, std::move(op), std::move(node)), std::move(on_cuts));
}

}  // namespace easydata::plan
