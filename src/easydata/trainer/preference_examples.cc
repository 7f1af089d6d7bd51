#include <optional>
#include <utility>

#include "easydata/config/descriptor.h"
#include "easydata/trainer/answer_examples.h"
#include "easydata/trainer/answers.h"
#include "easydata/trainer/example_maker.h"

namespace easydata::trainer {
namespace {

struct PreferenceMaker : ExampleMaker, std::enable_shared_from_this<PreferenceMaker> {
  PreferenceMaker(std::shared_ptr<const ExampleContext> context, const PreferenceOptions& options,
                  SpecialFrame frame)
      : context(std::move(context)), options(options), frame(std::move(frame)) {}

  const char* name() const override { return "dpo"; }
  std::vector<std::string> fields() const override {
    std::vector<std::string> names = {"prompt", "chosen", "rejected", "tools",
                                      "chat_template_kwargs"};
    for (const ExampleWriter::Column& column : columns()) names.push_back(column.name);
    return names;
  }
  std::vector<std::string> unnamed_fields() const override { return OtherAnswerFields(); }
  std::vector<ExampleWriter::Column> columns() const override {
    using Kind = ExampleWriter::Kind;
    if (options.example.is_trl()) return {{"prompt_ids"}, {"chosen_ids"}, {"rejected_ids"}};
    return {{"prompt_input_ids"},
            {"prompt_attention_mask", Kind::kMask},
            {"chosen_input_ids"},
            {"chosen_attention_mask", Kind::kMask},
            {"chosen_labels", Kind::kLabels},
            {"rejected_input_ids"},
            {"rejected_attention_mask", Kind::kMask},
            {"rejected_labels", Kind::kLabels}};
  }
  int32_t ignored_label() const override { return options.answer.label_pad_token_id; }
  std::unique_ptr<ExampleDrafts> Start() const override;
  config::Json described() const override { return config::WriteConfig(options); }
  const ExampleOptions& example_options() const override { return options.example; }

  const std::shared_ptr<const ExampleContext> context;
  const PreferenceOptions options;
  const SpecialFrame frame;
  const std::vector<ExampleWriter::Column> made = columns();
};

struct PreferenceDraft {
  int64_t row = 0;
  AnswerPieces pieces = {};
  /// The columns of a row that has them already.
  std::vector<std::vector<int32_t>> made = {};
};

class PreferenceDrafts : public ExampleDrafts {
 public:
  explicit PreferenceDrafts(std::shared_ptr<const PreferenceMaker> maker)
      : maker_(std::move(maker)) {}

  Status Read(const Row& row) override {
    PreferenceDraft draft = {.row = row.number};
    ARROW_ASSIGN_OR_RAISE(auto made, MadeColumns(row.fields, maker_->made[0].name, maker_->made));
    if (made.has_value()) {
      draft.made = *std::move(made);
    } else {
      ARROW_RETURN_NOT_OK(ReadAnswers(row, AnswerKind::kPair, &texts_));
      draft.pieces = AddPieces(row, texts_, maker_->options.example, *maker_->context);
    }
    drafts_.push_back(std::move(draft));
    return Status::OK();
  }

  Status Write(const TextPieces& pieces, ExampleWriter* writer) const override {
    for (const PreferenceDraft& draft : drafts_) {
      if (!draft.made.empty()) {
        for (size_t i = 0; i < draft.made.size(); ++i) writer->Put(i, draft.made[i]);
        writer->EndExample(draft.row);
      } else if (maker_->options.example.is_trl()) {
        WriteTrl(draft, pieces, writer);
      } else {
        WriteEasydel(draft, pieces, writer);
      }
    }
    return Status::OK();
  }

 private:
  void WriteTrl(const PreferenceDraft& draft, const TextPieces& pieces,
                ExampleWriter* writer) const {
    const PreferenceOptions& options = maker_->options;
    const AnswerIds ids =
        TrlIds(draft.pieces, pieces, maker_->context->tokens, maker_->frame.after);
    const auto prompt = static_cast<int64_t>(ids.prompt.size());
    if (options.answer.max_length.has_value() &&
        options.truncation_mode == TruncationMode::kKeepStart &&
        prompt >= *options.answer.max_length) {
      writer->Leave(draft.row, kLongPromptReason, prompt);
      return;
    }
    writer->Put(0, ids.prompt);
    writer->Put(1, ids.answers[0]);
    writer->Put(2, ids.answers[1]);
    writer->EndExample(draft.row);
  }

  void WriteEasydel(const PreferenceDraft& draft, const TextPieces& pieces,
                    ExampleWriter* writer) const {
    const AnswerOptions& options = maker_->options.answer;
    const TokenRoles& tokens = maker_->context->tokens;
    const AnswerIds ids = EasydelIds(draft.pieces, pieces, options, tokens);
    writer->Cut(draft.row, ids.cut);
    const auto prompt = static_cast<int64_t>(ids.prompt.size());
    Filling of_prompt = {.value = tokens.pad_id, .left = true};
    Filling of_whole = {.value = tokens.pad_id};
    if (maker_->options.example.has_fixed_shapes()) {
      of_prompt.length = options.max_prompt_length.value_or(0);
      if (options.max_prompt_length.has_value() && options.max_completion_length.has_value()) {
        of_whole.length = *options.max_prompt_length + *options.max_completion_length;
      }
    }
    writer->Put(0, ids.prompt, of_prompt);
    writer->PutOnes(1, prompt, of_prompt);
    for (size_t side = 0; side < 2; ++side) {
      const std::vector<int32_t>& answer = ids.answers[side];
      const size_t column = 2 + 3 * side;
      writer->Add(column, ids.prompt);
      writer->Put(column, answer, of_whole);
      writer->PutOnes(column + 1, prompt + static_cast<int64_t>(answer.size()), of_whole);
      writer->AddRun(column + 2, prompt, options.label_pad_token_id);
      writer->Put(column + 2, answer, {of_whole.length, options.label_pad_token_id, false});
    }
    writer->EndExample(draft.row);
  }

  const std::shared_ptr<const PreferenceMaker> maker_;
  std::vector<PreferenceDraft> drafts_;
  AnswerTexts texts_;
};

std::unique_ptr<ExampleDrafts> PreferenceMaker::Start() const {
  return std::make_unique<PreferenceDrafts>(shared_from_this());
}

}  // namespace

Result<std::shared_ptr<const ExampleMaker>> PreferenceExamples(
    std::shared_ptr<const ExampleContext> context, const PreferenceOptions& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  ARROW_ASSIGN_OR_RAISE(SpecialFrame frame, FindSpecialFrame(*context->encoder));
  return std::make_shared<PreferenceMaker>(std::move(context), options, std::move(frame));
}

}  // namespace easydata::trainer
