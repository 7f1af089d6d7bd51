#include "easydata/plan/tokenized.h"

#include <utility>

#include "easydata/stream/map_stage.h"
#include "easydata/transform/conform_columns.h"

namespace easydata::plan {
namespace {

class TokenizedPlan : public LogicalPlan {
 public:
  TokenizedPlan(LogicalPlanPtr texts, std::shared_ptr<const tokenizers::TextEncoder> encoder,
                TokenizedOptions options, CutCallback on_cuts)
      : texts_(std::move(texts)),
        encoder_(std::move(encoder)),
        options_(std::move(options)),
        on_cuts_(std::move(on_cuts)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    transform::TokenizeOptions tokenize = options_.tokenize;
    const bool all = !request.columns.has_value();
    Request texts = request;
    texts.whole_documents = false;
    texts.columns.emplace();
    tokenize.keep.clear();
    for (const std::string& name : options_.tokenize.keep) {
      const ColumnRequest* asked = all ? nullptr : FindColumn(*request.columns, name);
      if (!all && asked == nullptr) continue;
      tokenize.keep.push_back(name);
      if (name == tokenize.column) continue;
      texts.columns->push_back({name, all ? ColumnKind::kAny : asked->kind});
    }
    texts.columns->push_back({tokenize.column, ColumnKind::kText});
    if (!all && FindColumn(*request.columns, "attention_mask") == nullptr)
      tokenize.attention_mask = false;
    if (request.whole_documents && options_.may_be_whole) tokenize.encode.max_length = 0;
    ARROW_ASSIGN_OR_RAISE(const StreamPlan plan, texts_->Make(texts));
    ARROW_ASSIGN_OR_RAISE(StreamPlan tokens,
                          TokenizePlan(plan, encoder_, tokenize, on_cuts_, options_.vocabulary));
    if (all) return tokens;
    return MapPlan(tokens, transform::ConformColumns(*request.columns));
  }

  bool CanSeek() const override { return texts_->CanSeek(); }

 private:
  const LogicalPlanPtr texts_;
  const std::shared_ptr<const tokenizers::TextEncoder> encoder_;
  const TokenizedOptions options_;
  const CutCallback on_cuts_;
};

}  // namespace

LogicalPlanPtr Tokenized(LogicalPlanPtr texts,
                         std::shared_ptr<const tokenizers::TextEncoder> encoder,
                         TokenizedOptions options, CutCallback on_cuts) {
  return std::make_shared<TokenizedPlan>(std::move(texts), std::move(encoder), std::move(options),
                                         std::move(on_cuts));
}

}  // namespace easydata::plan
