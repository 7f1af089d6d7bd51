#include "easydata/plan/of_vocabulary.h"

#include <utility>

namespace easydata::plan {
namespace {

Result<Vocabularies> Told(const VocabularyFunction& known, const VocabularyPtr& told,
                          const std::string& name) {
  Vocabularies out;
  if (known != nullptr) {
    ARROW_ASSIGN_OR_RAISE(out, known());
  }
  for (const VocabularyPtr& vocabulary : out.known) {
    if (vocabulary->fingerprint == told->fingerprint) continue;
    return Status::Invalid(name, " names the tokenizer ", told->Shown(),
                           ", and its tokens are of another one: ", vocabulary->Shown(),
                           "; name that one or none, or tokenize the text anew");
  }
  out.Add(told);
  out.has_unknown = false;
  return out;
}

class OfVocabularyPlan : public LogicalPlan {
 public:
  OfVocabularyPlan(LogicalPlanPtr rows, VocabularyPtr vocabulary, std::string name)
      : rows_(std::move(rows)), vocabulary_(std::move(vocabulary)), name_(std::move(name)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    return WithVocabulary(rows_->Make(request));
  }
  Result<StreamPlan> MakeShuffled(const Request& request,
                                  const source::SourceShuffleOptions& order) const override {
    return WithVocabulary(rows_->MakeShuffled(request, order));
  }
  bool CanSeek() const override { return rows_->CanSeek(); }
  Result<std::optional<std::vector<std::string>>> FirstRowNames() const override {
    return rows_->FirstRowNames();
  }
  Result<std::optional<source::FirstRows>> Peek(int64_t num_rows) const override {
    return rows_->Peek(num_rows);
  }
  Result<std::vector<std::string>> FieldNames() const override { return rows_->FieldNames(); }

 protected:
  Result<std::vector<std::vector<std::string>>> LookAtForms() const override {
    return rows_->FirstForms();
  }

 private:
  Result<StreamPlan> WithVocabulary(Result<StreamPlan> made) const {
    ARROW_ASSIGN_OR_RAISE(StreamPlan plan, std::move(made));
    auto node = std::make_shared<PlanNode>(*plan.node);
    node->facts.vocabularies =
        AskedOnce<Vocabularies>([known = plan.facts().vocabularies, told = vocabulary_,
                                 name = name_] { return Told(known, told, name); });
    plan.node = std::move(node);
    return plan;
  }

  const LogicalPlanPtr rows_;
  const VocabularyPtr vocabulary_;
  const std::string name_;
};

}  // namespace

LogicalPlanPtr OfVocabulary(LogicalPlanPtr rows, VocabularyPtr vocabulary, std::string name) {
  return std::make_shared<OfVocabularyPlan>(std::move(rows), std::move(vocabulary),
                                            std::move(name));
}

}  // namespace easydata::plan
