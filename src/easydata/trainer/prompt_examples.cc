#include <optional>
#include <utility>

#include "easydata/chat/row_conversation.h"
#include "easydata/config/descriptor.h"
#include "easydata/trainer/answers.h"
#include "easydata/trainer/example_maker.h"

namespace easydata::trainer {
namespace {

using jinja::Value;
using jinja::ValueKind;

struct PromptMaker : ExampleMaker, std::enable_shared_from_this<PromptMaker> {
  PromptMaker(std::shared_ptr<const ExampleContext> context, const PromptOptions& options)
      : context(std::move(context)), options(options) {}

  const char* name() const override { return "grpo"; }
  std::vector<std::string> fields() const override {
    return {"input_ids", "prompt",   "messages", "conversations",       "conversation",
            "chosen",    "rejected", "tools",    "chat_template_kwargs"};
  }
  std::vector<std::string> unnamed_fields() const override {
    std::vector<std::string> names = OtherAnswerFields();
    names.emplace_back("attention_mask");
    return names;
  }
  std::vector<ExampleWriter::Column> columns() const override {
    return {{.name = "input_ids", .left = true},
            {.name = "attention_mask", .kind = ExampleWriter::Kind::kMask, .left = true}};
  }
  std::unique_ptr<ExampleDrafts> Start() const override;
  config::Json described() const override { return config::WriteConfig(options); }
  const ExampleOptions& example_options() const override { return options.example; }

  const std::shared_ptr<const ExampleContext> context;
  const PromptOptions options;
};

struct PromptDraft {
  int64_t row = 0;
  int piece = -1;
  // Of a row that has ids already.
  std::vector<int32_t> ids = {};
  std::optional<std::vector<int32_t>> mask = {};
};

class PromptDrafts : public ExampleDrafts {
 public:
  explicit PromptDrafts(std::shared_ptr<const PromptMaker> maker) : maker_(std::move(maker)) {}

  Status Read(const Row& row) override {
    PromptDraft draft = {.row = row.number};
    ARROW_ASSIGN_OR_RAISE(auto ids, IdsOf(row.fields, "input_ids"));
    if (ids.has_value()) {
      draft.ids = *std::move(ids);
      ARROW_ASSIGN_OR_RAISE(draft.mask, MaskOf(row.fields, "attention_mask", draft.ids.size()));
    } else {
      ARROW_ASSIGN_OR_RAISE(const std::string text, Prompt(row));
      draft.piece = row.pieces.Add(text, /*add_special_tokens=*/false, row.number);
    }
    drafts_.push_back(std::move(draft));
    return Status::OK();
  }

  Status Write(const TextPieces& pieces, ExampleWriter* writer) const override {
    const TokenRoles& tokens = maker_->context->tokens;
    const auto& most = maker_->options.max_prompt_length;
    Filling filling = {.value = tokens.pad_id, .left = true};
    if (maker_->options.example.has_fixed_shapes()) filling.length = most.value_or(0);
    for (const PromptDraft& draft : drafts_) {
      if (draft.piece < 0) {
        const std::vector<int32_t> ones(draft.ids.size(), 1);
        writer->Put(0, draft.ids);
        writer->Put(1, draft.mask.value_or(ones));
        writer->EndExample(draft.row);
        continue;
      }
      std::span<const int32_t> ids = pieces.ids(draft.piece);
      if (ids.empty() && tokens.empty_id.has_value()) ids = {&*tokens.empty_id, 1};
      if (most.has_value() && static_cast<int64_t>(ids.size()) > *most) {
        writer->Cut(draft.row, static_cast<int64_t>(ids.size()) - *most);
        ids = ids.last(static_cast<size_t>(*most));
      }
      writer->Put(0, ids, filling);
      writer->PutOnes(1, static_cast<int64_t>(ids.size()), filling);
      writer->EndExample(draft.row);
    }
    return Status::OK();
  }

 private:
  Result<std::string> Prompt(const Row& row) {
    ARROW_ASSIGN_OR_RAISE(const Value given, row.fields.Get("prompt"));
    const bool is_empty = given.Is(ValueKind::kNone) || (given.IsString() && given.size == 0) ||
                          (given.Is(ValueKind::kList) && given.size == 0);
    if (!is_empty) return Rendered(row, given, "prompt");
    for (const std::string_view field : chat::kMessageFields) {
      ARROW_ASSIGN_OR_RAISE(const Value messages, row.fields.Get(field));
      if (!messages.Is(ValueKind::kNone)) return Rendered(row, messages, field);
    }
    Value asked = Value::None();
    std::string_view asked_field;
    ARROW_RETURN_NOT_OK(FindTextPrompt(row, &asked, &asked_field));
    if (!asked.Is(ValueKind::kNone) && asked_field != kPromptFields[0]) {
      return Rendered(row, asked, asked_field);
    }
    ARROW_ASSIGN_OR_RAISE(const Value chosen, row.fields.Get("chosen"));
    if (!chosen.Is(ValueKind::kNone)) {
      AnswerTexts texts;
      ARROW_RETURN_NOT_OK(ReadAnswers(row, AnswerKind::kPair, &texts));
      return texts.prompt;
    }
    if (given.IsString()) return std::string();
    return NothingToRead(row.fields, "'prompt', 'messages', or 'chosen' and 'rejected'");
  }

  Result<std::string> Rendered(const Row& row, const Value& value, std::string_view field) {
    Value messages = row.chats.AsMessages(value);
    if (messages.Is(ValueKind::kNone)) {
      ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(value, field));
      ARROW_ASSIGN_OR_RAISE(const bool has_system, row.chats.HasSystem());
      if (!has_system) return std::string(text);
      messages = row.chats.Single("user", text);
    }
    if (maker_->options.skip_apply_chat_template) {
      return Status::TypeError("field '", field,
                               "' holds a chat, and skip_apply_chat_template=True asks for text");
    }
    ARROW_ASSIGN_OR_RAISE(Value read, row.chats.Read(messages, field));
    ARROW_ASSIGN_OR_RAISE(read, row.chats.WithSystem(read));
    chat::RenderedChat rendered;
    ARROW_RETURN_NOT_OK(row.chats.RenderAlone(read, &rendered));
    return std::move(rendered.text);
  }

  const std::shared_ptr<const PromptMaker> maker_;
  std::vector<PromptDraft> drafts_;
};

std::unique_ptr<ExampleDrafts> PromptMaker::Start() const {
  return std::make_unique<PromptDrafts>(shared_from_this());
}

}  // namespace

Result<std::shared_ptr<const ExampleMaker>> PromptExamples(
    std::shared_ptr<const ExampleContext> context, const PromptOptions& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  return std::make_shared<PromptMaker>(std::move(context), options);
}

}  // namespace easydata::trainer
