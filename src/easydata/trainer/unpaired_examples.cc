#include <optional>
#include <utility>

#include "easydata/config/descriptor.h"
#include "easydata/trainer/answer_examples.h"
#include "easydata/trainer/answers.h"
#include "easydata/trainer/example_maker.h"

namespace easydata::trainer {
namespace {

using jinja::Value;
using jinja::ValueKind;

constexpr const char kEmbeddingIds[] = "embedding_input_ids";

struct UnpairedMaker : ExampleMaker, std::enable_shared_from_this<UnpairedMaker> {
  UnpairedMaker(std::shared_ptr<const ExampleContext> context, const UnpairedOptions& options,
                SpecialFrame frame, std::shared_ptr<const tokenizers::TextEncoder> embedding,
                int32_t embedding_pad_id)
      : context(std::move(context)),
        options(options),
        frame(std::move(frame)),
        embedding(std::move(embedding)),
        embedding_pad_id(embedding_pad_id) {}

  const char* name() const override { return "kto"; }
  std::vector<std::string> fields() const override {
    std::vector<std::string> names = {"completion", "chosen", "rejected",
                                      "prompt",     "tools",  "chat_template_kwargs"};
    for (const ExampleWriter::Column& column : columns()) names.push_back(column.name);
    return names;
  }
  std::vector<std::string> unnamed_fields() const override {
    std::vector<std::string> names = OtherAnswerFields();
    names.emplace_back("kto_tag");
    return names;
  }
  std::vector<ExampleWriter::Column> columns() const override {
    using Kind = ExampleWriter::Kind;
    if (options.example.is_trl()) {
      return {{"prompt_ids"}, {"completion_ids"}, {"label", Kind::kFlag}};
    }
    std::vector<ExampleWriter::Column> made = {{"label", Kind::kFlag},
                                               {"prompt_input_ids"},
                                               {"prompt_attention_mask", Kind::kMask},
                                               {"completion_input_ids"},
                                               {"completion_attention_mask", Kind::kMask},
                                               {"completion_labels", Kind::kLabels}};
    if (embedding != nullptr) {
      made.push_back({kEmbeddingIds});
      made.push_back({"embedding_attention_mask", Kind::kMask});
    }
    return made;
  }
  int32_t ignored_label() const override { return options.answer.label_pad_token_id; }
  ColumnPaddings paddings(const TokenRoles& tokens) const override {
    ColumnPaddings paddings = ExampleMaker::paddings(tokens);
    // Another tokenizer's: no pad token that is asked for is meant for it.
    if (embedding != nullptr) paddings[kEmbeddingIds] = {.value = embedding_pad_id};
    return paddings;
  }
  std::unique_ptr<ExampleDrafts> Start() const override;
  config::Json described() const override { return config::WriteConfig(options); }
  const ExampleOptions& example_options() const override { return options.example; }

  const std::shared_ptr<const ExampleContext> context;
  const UnpairedOptions options;
  const SpecialFrame frame;
  const std::shared_ptr<const tokenizers::TextEncoder> embedding;
  const int32_t embedding_pad_id;
  const std::vector<ExampleWriter::Column> made = columns();
};

struct UnpairedDraft {
  int64_t row = 0;
  AnswerPieces pieces = {};
  size_t answer = 0;  // which of the answers
  bool label = false;
  int embedded = -1;
  std::vector<std::vector<int32_t>> made = {};
};

class UnpairedDrafts : public ExampleDrafts {
 public:
  explicit UnpairedDrafts(std::shared_ptr<const UnpairedMaker> maker) : maker_(std::move(maker)) {}

  Status Read(const Row& row) override {
    const char* const first = maker_->options.example.is_trl() ? "prompt_ids" : "prompt_input_ids";
    ARROW_ASSIGN_OR_RAISE(auto made, MadeColumns(row.fields, first, maker_->made));
    if (made.has_value()) {
      UnpairedDraft kept = {.row = row.number, .made = *std::move(made)};
      ARROW_ASSIGN_OR_RAISE(kept.label, LabelOf(row.fields));
      drafts_.push_back(std::move(kept));
      return Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(const Value completion, row.fields.Get(kCompletionField));
    UnpairedDraft draft = {.row = row.number};
    if (completion.Is(ValueKind::kNone)) {
      ARROW_ASSIGN_OR_RAISE(const Value label, LabelIn(row.fields));
      ARROW_ASSIGN_OR_RAISE(const bool has_pair, HasPair(row.fields));
      if (!has_pair && label.Is(ValueKind::kNone)) {
        return NothingToRead(row.fields, "'completion' with 'label', or 'chosen' and 'rejected'");
      }
      if (!has_pair) return ReadOne(row, &draft);
      ARROW_RETURN_NOT_OK(ReadAnswers(row, AnswerKind::kPair, &texts_));
      Add(row, &draft);
      draft.label = true;
      drafts_.push_back(draft);
      draft.answer = 1;
      draft.label = false;
      drafts_.push_back(std::move(draft));
      return Status::OK();
    }
    return ReadOne(row, &draft);
  }

  Status Write(const TextPieces& pieces, ExampleWriter* writer) const override {
    TextPieces embedded;
    std::vector<int> numbers;
    if (maker_->embedding != nullptr) {
      for (const UnpairedDraft& draft : drafts_) {
        numbers.push_back(draft.embedded < 0
                              ? -1
                              : embedded.Add(prompts_[static_cast<size_t>(draft.embedded)],
                                             /*add_special_tokens=*/true, draft.row));
      }
      int64_t bad_row = -1;
      ARROW_RETURN_NOT_OK(embedded.Encode(*maker_->embedding, &bad_row));
    }
    for (size_t i = 0; i < drafts_.size(); ++i) {
      const UnpairedDraft& draft = drafts_[i];
      if (!draft.made.empty()) {
        WriteKept(draft, writer);
      } else if (maker_->options.example.is_trl()) {
        WriteTrl(draft, pieces, writer);
      } else {
        WriteEasydel(draft, pieces, writer);
        if (!numbers.empty()) {
          const auto ids = embedded.ids(numbers[i]);
          writer->Put(6, ids);
          writer->PutOnes(7, static_cast<int64_t>(ids.size()));
        }
        writer->EndExample(draft.row);
      }
    }
    return Status::OK();
  }

 private:
  /// Reads a row of one answer.
  Status ReadOne(const Row& row, UnpairedDraft* draft) {
    ARROW_ASSIGN_OR_RAISE(draft->label, LabelOf(row.fields));
    ARROW_RETURN_NOT_OK(ReadAnswers(row, AnswerKind::kCompletion, &texts_));
    Add(row, draft);
    drafts_.push_back(std::move(*draft));
    return Status::OK();
  }

  static Result<bool> HasPair(const chat::RowFields& fields) {
    for (const std::string_view field : kChosenFields) {
      ARROW_ASSIGN_OR_RAISE(const Value chosen, fields.Get(field));
      if (!chosen.Is(ValueKind::kNone)) return true;
    }
    for (const std::string_view field : kRejectedFields) {
      ARROW_ASSIGN_OR_RAISE(const Value rejected, fields.Get(field));
      if (!rejected.Is(ValueKind::kNone)) return true;
    }
    return false;
  }

  /// `label`, or `kto_tag`, as LLaMA-Factory calls it.
  static Result<Value> LabelIn(const chat::RowFields& fields) {
    ARROW_ASSIGN_OR_RAISE(const Value label, fields.Get("label"));
    return label.Is(ValueKind::kNone) ? fields.Get("kto_tag") : label;
  }

  static Result<bool> LabelOf(const chat::RowFields& fields) {
    ARROW_ASSIGN_OR_RAISE(const Value label, LabelIn(fields));
    if (label.Is(ValueKind::kBoolean)) return label.as.boolean;
    if (label.Is(ValueKind::kInteger) && (label.as.integer == 0 || label.as.integer == 1)) {
      return label.as.integer == 1;
    }
    return Status::TypeError("field 'label' must say whether the completion is good: true or false",
                             label.Is(ValueKind::kNone) ? "; the row has none" : "");
  }

  void Add(const Row& row, UnpairedDraft* draft) {
    draft->pieces = AddPieces(row, texts_, maker_->options.example, *maker_->context);
    if (maker_->embedding == nullptr) return;
    draft->embedded = static_cast<int>(prompts_.size());
    prompts_.push_back(texts_.prompt);
  }

  void WriteKept(const UnpairedDraft& draft, ExampleWriter* writer) const {
    const auto& columns = maker_->made;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].kind == ExampleWriter::Kind::kFlag) {
        writer->PutFlag(i, draft.label);
      } else {
        writer->Put(i, draft.made[i]);
      }
    }
    writer->EndExample(draft.row);
  }

  void WriteTrl(const UnpairedDraft& draft, const TextPieces& pieces, ExampleWriter* writer) const {
    // TRL makes a row of each answer before it looks for the boundary.
    AnswerPieces own = draft.pieces;
    own.answers = {draft.pieces.answers[draft.answer]};
    const AnswerIds ids = TrlIds(own, pieces, maker_->context->tokens, maker_->frame.after);
    const auto prompt = static_cast<int64_t>(ids.prompt.size());
    const auto& most = maker_->options.answer.max_length;
    if (most.has_value() && prompt >= *most) {
      writer->Leave(draft.row, kLongPromptReason, prompt);
      return;
    }
    writer->Put(0, ids.prompt);
    writer->Put(1, ids.answers[0]);
    writer->PutFlag(2, draft.label);
    writer->EndExample(draft.row);
  }

  void WriteEasydel(const UnpairedDraft& draft, const TextPieces& pieces,
                    ExampleWriter* writer) const {
    const AnswerOptions& options = maker_->options.answer;
    AnswerPieces own = draft.pieces;
    own.answers = {draft.pieces.answers[draft.answer]};
    const AnswerIds ids = EasydelIds(own, pieces, options, maker_->context->tokens);
    writer->Cut(draft.row, ids.cut);
    const auto prompt = static_cast<int64_t>(ids.prompt.size());
    const std::vector<int32_t>& answer = ids.answers[0];
    writer->PutFlag(0, draft.label);
    writer->Put(1, ids.prompt);
    writer->PutOnes(2, prompt);
    writer->Add(3, ids.prompt);
    writer->Put(3, answer);
    writer->PutOnes(4, prompt + static_cast<int64_t>(answer.size()));
    writer->AddRun(5, prompt, options.label_pad_token_id);
    writer->Put(5, answer);
  }

  const std::shared_ptr<const UnpairedMaker> maker_;
  std::vector<UnpairedDraft> drafts_;
  std::vector<std::string> prompts_;  // for the embedding's tokenizer
  AnswerTexts texts_;
};

std::unique_ptr<ExampleDrafts> UnpairedMaker::Start() const {
  return std::make_unique<UnpairedDrafts>(shared_from_this());
}

}  // namespace

Result<std::shared_ptr<const ExampleMaker>> UnpairedExamples(
    std::shared_ptr<const ExampleContext> context, const UnpairedOptions& options,
    std::shared_ptr<const tokenizers::TextEncoder> embedding, int32_t embedding_pad_id) {
  ARROW_RETURN_NOT_OK(options.Validate());
  if (embedding != nullptr && options.example.is_trl()) {
    return Status::Invalid("embedding_tokenizer is for layout=\"easydel\"");
  }
  ARROW_ASSIGN_OR_RAISE(SpecialFrame frame, FindSpecialFrame(*context->encoder));
  return std::make_shared<UnpairedMaker>(std::move(context), options, std::move(frame),
                                         std::move(embedding), embedding_pad_id);
}

}  // namespace easydata::trainer
