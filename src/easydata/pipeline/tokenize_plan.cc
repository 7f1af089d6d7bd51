#include "easydata/pipeline/tokenize_plan.h"

#include <atomic>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/forwarding_stage.h"
#include "easydata/stream/map_stage.h"

namespace easydata {
namespace {

/// Which of a plan's cuts were reported already.
struct ToldCuts {
  std::atomic<bool> first = false;
  std::atomic<bool> all = false;
};

/// Forwards batches, and reports the documents that were cut.
class CutNoticeStage : public ForwardingStage {
 public:
  CutNoticeStage(std::unique_ptr<Stage> upstream, std::shared_ptr<ToldCuts> told, TellCuts tell)
      : ForwardingStage(std::move(upstream)), told_(std::move(told)), tell_(std::move(tell)) {}

  Result<std::optional<Batch>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream()->Next());
    if (!batch.has_value()) {
      if (!report_.by_source.empty() && !told_->all.exchange(true)) {
        ARROW_RETURN_NOT_OK(tell_(report_));
      }
      return std::nullopt;
    }
    bool any = false;
    for (const DropCount& count : batch->dropped) {
      if (count.reason != kTruncatedReason) continue;
      CutReport::Cut& cut = report_.by_source[count.source];
      cut.documents += count.rows;
      cut.tokens += count.tokens;
      any = true;
    }
    if (any && !told_->first.exchange(true)) {
      report_.is_first = true;
      ARROW_RETURN_NOT_OK(tell_(report_));
      report_.is_first = false;
    }
    return batch;
  }

 private:
  const std::shared_ptr<ToldCuts> told_;
  const TellCuts tell_;
  CutReport report_;
};

}  // namespace

Result<StreamPlan> TokenizePlan(const StreamPlan& upstream,
                                std::shared_ptr<const tokenizers::TextEncoder> encoder,
                                const TokenizeOptions& options, TellCuts tell) {
  const nlohmann::json described = {{"tokenizer", encoder->fingerprint()},
                                    {"content_field", options.column},
                                    {"add_special_tokens", options.encode.add_special_tokens},
                                    {"max_length", options.encode.max_length},
                                    {"pad_to", options.pad_to},
                                    {"additional_fields", options.keep},
                                    {"on_error", options.skip_missing ? "skip" : "raise"}};
  auto node = MakeNode("tokenize", described, upstream);
  node->tokenizer = encoder->fingerprint();
  ARROW_ASSIGN_OR_RAISE(auto op, TokenizeOp(std::move(encoder), options));
  node->keeps_row_count = op->keeps_rows();
  StreamPlan plan = MapPlan(upstream, std::move(op), std::move(node));
  if (tell == nullptr) return plan;
  plan.make = [make = std::move(plan.make), told = std::make_shared<ToldCuts>(),
               tell =
                   std::move(tell)](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    return std::make_unique<CutNoticeStage>(std::move(stage), told, tell);
  };
  return plan;
}

}  // namespace easydata
