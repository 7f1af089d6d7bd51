#include "easydata/plan/tokenize_plan.h"

#include <atomic>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/forwarding_stage.h"
#include "easydata/stream/map_stage.h"

namespace easydata::plan {
namespace {

/// Which of a plan's cuts were reported already.
struct ReportedCuts {
  std::atomic<bool> first = false;
  std::atomic<bool> all = false;
};

/// Forwards batches, and reports the documents that were cut.
class CutNoticeStage : public ForwardingStage {
 public:
  CutNoticeStage(std::unique_ptr<Stage> upstream, std::shared_ptr<ReportedCuts> reported,
                 CutCallback on_cuts)
      : ForwardingStage(std::move(upstream)),
        reported_(std::move(reported)),
        on_cuts_(std::move(on_cuts)) {}

  Result<std::optional<Batch>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream()->Next());
    if (!batch.has_value()) {
      if (!report_.by_source.empty() && !reported_->all.exchange(true)) {
        ARROW_RETURN_NOT_OK(on_cuts_(report_));
      }
      return std::nullopt;
    }
    bool any = false;
    for (const DropCount& count : batch->dropped) {
      if (count.reason != transform::kTruncatedReason) continue;
      CutReport::Cut& cut = report_.by_source[count.source];
      cut.documents += count.rows;
      cut.tokens += count.tokens;
      any = true;
    }
    if (any && !reported_->first.exchange(true)) {
      report_.is_first = true;
      ARROW_RETURN_NOT_OK(on_cuts_(report_));
      report_.is_first = false;
    }
    return batch;
  }

 private:
  const std::shared_ptr<ReportedCuts> reported_;
  const CutCallback on_cuts_;
  CutReport report_;
};

}  // namespace

Result<StreamPlan> TokenizePlan(const StreamPlan& upstream,
                                std::shared_ptr<const tokenizers::TextEncoder> encoder,
                                const transform::TokenizeOptions& options, CutCallback on_cuts,
                                VocabularyPtr vocabulary) {
  const nlohmann::json described = {{"tokenizer", encoder->fingerprint()},
                                    {"content_field", options.column},
                                    {"add_special_tokens", options.encode.add_special_tokens},
                                    {"max_length", options.encode.max_length},
                                    {"pad_to", options.pad_to},
                                    {"additional_fields", options.keep},
                                    {"on_error", options.skip_missing ? "skip" : "raise"}};
  auto node = MakeNode("tokenize", described, upstream);
  node->tokenizer = encoder->fingerprint();
  node->facts.vocabularies = AllOf(std::move(vocabulary));
  ARROW_ASSIGN_OR_RAISE(auto op, transform::TokenizeOp(std::move(encoder), options));
  node->keeps_row_count = op->keeps_rows();
  return WithCutNotices(MapPlan(upstream, std::move(op), std::move(node)), std::move(on_cuts));
}

StreamPlan WithCutNotices(StreamPlan plan, CutCallback on_cuts) {
  if (on_cuts == nullptr) return plan;
  plan.make = [make = std::move(plan.make), reported = std::make_shared<ReportedCuts>(),
               on_cuts = std::move(on_cuts)](
                  const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    return std::make_unique<CutNoticeStage>(std::move(stage), reported, on_cuts);
  };
  return plan;
}

}  // namespace easydata::plan
