#include <algorithm>
#include <utility>

#include "easydata/chat/row_conversation.h"
#include "easydata/config/descriptor.h"
#include "easydata/trainer/answers.h"
#include "easydata/trainer/assistant_mask.h"
#include "easydata/trainer/example_maker.h"
#include "easydata/trainer/text_end.h"

namespace easydata::trainer {
namespace {

using jinja::Value;
using jinja::ValueKind;

constexpr int32_t kIgnored = -100;

// What a row has that is tokenized already.
constexpr std::string_view kIds = "input_ids";
constexpr std::string_view kAttentionMask = "attention_mask";
constexpr std::string_view kCompletionMask = "completion_mask";
constexpr std::string_view kAssistantMasks = "assistant_masks";
constexpr std::string_view kLabels = "labels";
constexpr std::string_view kGivenFields[] = {kIds, kAttentionMask, kCompletionMask, kAssistantMasks,
                                             kLabels};

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What rows have that are tokenized already.
struct GivenExamples {
  std::vector<std::string> fields = {};  // of kGivenFields, in their order
  bool is_all = false;                   // there are no other rows
};

/// Where a column stands among those that are made; -1: it is not made.
struct SftColumns {
  std::vector<ExampleWriter::Column> all;
  int attention_mask = -1;
  int labels = -1;
  int completion_mask = -1;
  int assistant_masks = -1;
};

struct SftMaker : ExampleMaker, std::enable_shared_from_this<SftMaker> {
  SftMaker(std::shared_ptr<const ExampleContext> context, const SftOptions& options,
           SpecialFrame frame, GivenExamples given = {})
      : context(std::move(context)),
        options(options),
        frame(std::move(frame)),
        given(std::move(given)) {
    using Kind = ExampleWriter::Kind;
    columns_made.all.push_back({std::string(kIds)});
    const auto add_if = [&](bool is_made, std::string_view name, Kind kind = Kind::kMask) {
      if (!is_made && !Has(this->given.fields, name)) return -1;
      columns_made.all.push_back({std::string(name), kind});
      return static_cast<int>(columns_made.all.size()) - 1;
    };
    const bool has_masks = !options.example.is_trl();
    columns_made.attention_mask = add_if(has_masks, kAttentionMask);
    columns_made.completion_mask = add_if(has_masks && masks_completions(), kCompletionMask);
    columns_made.assistant_masks = add_if(has_masks && masks_chats(), kAssistantMasks);
    columns_made.labels = add_if(options.has_labels(), kLabels, Kind::kLabels);
  }

  bool masks_chats() const { return options.mask_prompt || options.expand_turns; }
  bool masks_completions() const {
    return options.completion_only_loss.value_or(options.mask_prompt || options.example.is_trl());
  }

  const char* name() const override { return "sft"; }
  std::vector<std::string> fields() const override {
    std::vector<std::string> names = {"input_ids", "labels", "completion_mask", "assistant_masks"};
    for (const std::string& field : message_fields()) names.push_back(field);
    for (const char* field : {"prompt", "completion"}) names.emplace_back(field);
    names.push_back(options.text_field);
    for (const char* field : {"tools", "chat_template_kwargs"}) names.emplace_back(field);
    return names;
  }
  std::vector<std::string> unnamed_fields() const override {
    std::vector<std::string> names = chat::FieldsBeside(/*instructions=*/true);
    names.emplace_back(kAttentionMask);
    return names;
  }
  std::vector<ExampleWriter::Column> columns() const override { return columns_made.all; }
  std::unique_ptr<ExampleDrafts> Start() const override;
  config::Json described() const override {
    config::Json described = config::WriteConfig(options);
    // Rows that stay have other lengths than those that are cut and filled up.
    if (!given.fields.empty()) described["given"] = given.fields;
    return described;
  }
  const ExampleOptions& example_options() const override { return options.example; }
  bool is_padded() const override { return !given.is_all && ExampleMaker::is_padded(); }
  std::shared_ptr<const ExampleMaker> For(const RowForms& rows) const override;

  /// Whether a row with these fields may be something else than an example that is tokenized.
  bool may_be_text(const std::vector<std::string>& fields) const {
    std::vector<std::string> names = chats;
    for (const std::string_view name : {"prompt", "completion"}) names.emplace_back(name);
    names.push_back(options.text_field);
    for (std::string& name : chat::FieldsBeside(/*instructions=*/true)) names.push_back(name);
    return !Has(fields, kIds) || std::any_of(names.begin(), names.end(),
                                             [&](const auto& name) { return Has(fields, name); });
  }

  std::vector<std::string> message_fields() const {
    std::vector<std::string> names = {options.messages_field};
    for (const std::string_view name : chat::kMessageFields) {
      if (name != options.messages_field) names.emplace_back(name);
    }
    return names;
  }

  const std::shared_ptr<const ExampleContext> context;
  const SftOptions options;
  const SpecialFrame frame;
  const GivenExamples given;
  const std::vector<std::string> chats = message_fields();
  SftColumns columns_made;
  mutable GenerationPrompts prompts;
};

/// An example to come.
struct SftDraft {
  int64_t row = 0;
  int whole = -1;   // the piece that it is
  int prompt = -1;  // the piece that it begins with, whose end is where the answer begins
  std::optional<size_t> given = {};  // or the byte of a chat's text
  bool is_framed = false;            // with special tokens around it
  bool ends_in_eos = false;          // which its piece does not spell
  bool is_chat_masked = false;
  std::vector<TrainedTurn> turns = {};
  // Of a row that has ids already.
  bool is_given = false;
  std::vector<int32_t> ids = {};
  std::optional<std::vector<int32_t>> attention_mask = {};
  std::optional<std::vector<int32_t>> labels = {};
  std::optional<std::vector<int32_t>> completion_mask = {};
  std::optional<std::vector<int32_t>> assistant_masks = {};
};

class SftDrafts : public ExampleDrafts {
 public:
  explicit SftDrafts(std::shared_ptr<const SftMaker> maker)
      : maker_(std::move(maker)), options_(maker_->options), context_(*maker_->context) {}

  Status Read(const Row& row) override {
    const size_t before = drafts_.size();
    const Status status = ReadRow(row);
    if (!status.ok()) drafts_.resize(before);
    return status;
  }

  Status Write(const TextPieces& pieces, ExampleWriter* writer) const override {
    for (const SftDraft& draft : drafts_) {
      const Status status = WriteExample(draft, pieces, writer);
      if (status.IsCancelled() || status.IsOutOfMemory()) return status;
      if (!status.ok()) writer->Refuse(draft.row, status);
    }
    return Status::OK();
  }

 private:
  Status ReadRow(const Row& row) {
    ARROW_ASSIGN_OR_RAISE(auto ids, IdsOf(row.fields, "input_ids"));
    if (ids.has_value()) return KeepIds(row, *std::move(ids));
    ARROW_ASSIGN_OR_RAISE(const Value prompt, row.fields.Get("prompt"));
    ARROW_ASSIGN_OR_RAISE(const Value completion, row.fields.Get("completion"));
    const bool has_completion = !prompt.Is(ValueKind::kNone) && !completion.Is(ValueKind::kNone);
    if (options_.example.is_trl() && has_completion) {
      return ReadCompletion(row, prompt, completion);
    }
    for (const std::string& field : maker_->chats) {
      ARROW_ASSIGN_OR_RAISE(const Value value, row.fields.Get(field));
      if (value.Is(ValueKind::kNone)) continue;
      const Value messages = row.chats.AsMessages(value);
      if (messages.Is(ValueKind::kNone) && value.IsString() && !LooksLikeJson(value)) {
        return ReadChat(row, row.chats.Single("user", value.Text()), field);
      }
      return ReadChat(row, value, field);
    }
    ARROW_ASSIGN_OR_RAISE(const Value text, row.fields.Get(options_.text_field));
    if (const Value messages = row.chats.AsMessages(text); !messages.Is(ValueKind::kNone)) {
      return ReadChat(row, messages, options_.text_field);
    }
    if (has_completion) return ReadCompletion(row, prompt, completion);
    if (!text.Is(ValueKind::kNone)) {
      ARROW_ASSIGN_OR_RAISE(const auto plain, TextOf(text, options_.text_field));
      SftDraft draft = {.row = row.number};
      AddText(row, plain, 0, &draft);
      drafts_.push_back(std::move(draft));
      return Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(const Value instruction, row.chats.AnsweredInstruction());
    if (!instruction.Is(ValueKind::kNone)) {
      return ReadChat(row, instruction, chat::kInstructions[0].instruction);
    }
    const std::string expected = "messages ('" + options_.messages_field +
                                 "'), 'prompt' with 'completion', or text ('" +
                                 options_.text_field + "')";
    return NothingToRead(row.fields, expected.c_str());
  }

  static bool LooksLikeJson(const Value& value) {
    const std::string_view text = value.Text();
    const size_t at = text.find_first_not_of(" \t\r\n");
    return at != std::string_view::npos && (text[at] == '[' || text[at] == '{');
  }

  /// Whether a text begins with the token that the encoder would put before it.
  bool BeginsWithBos(std::string_view text) const {
    const auto& before = maker_->frame.before;
    return !options_.example.is_trl() && context_.tokens.are_spelled && !before.empty() &&
           !bos_text_.empty() && text.starts_with(bos_text_);
  }

  /// Adds a text that ends in EOS, with the special tokens that the encoder puts around texts. The
  /// `begun` bytes before it are another's, and have no end.
  void AddText(const Row& row, std::string_view text, size_t begun, SftDraft* draft) const {
    if (options_.add_eos) {
      draft->ends_in_eos = true;
      text = WithoutEos(text, context_.tokens, begun);
    }
    draft->is_framed = !BeginsWithBos(text);
    draft->whole = row.pieces.Add(text, draft->is_framed, row.number);
    if (row.explained != nullptr) {
      row.explained->push_back(
          {std::string(text) + (options_.add_eos ? context_.tokens.eos_text : "")});
    }
  }

  /// The text of the last rendering, with its messages, and what is left out of each.
  void Explain(const Row& row, const Value& messages) const {
    if (row.explained == nullptr) return;
    ExplainedText explained = {rendered_.text};
    for (uint32_t i = 0; i < messages.size; ++i) {
      const Value* role = jinja::FindKey(messages.as.items[i], "role");
      ExplainedText::Turn turn = {role == nullptr ? "" : std::string(role->Text())};
      // What no loop prints is known by its text.
      for (const auto kind : {jinja::Mark::Kind::kMessage, jinja::Mark::Kind::kText}) {
        for (const jinja::Mark& mark : rendered_.marks) {
          if (mark.kind != kind || mark.message != i || turn.end > turn.begin) continue;
          turn.begin = mark.begin;
          turn.end = mark.end;
        }
      }
      explained.turns.push_back(std::move(turn));
    }
    if (row.chats.lost() != nullptr) {
      for (const chat::LostText& lost : *row.chats.lost()) {
        if (explained.error.empty()) {
          explained.error = chat::DescribeLost(lost, messages, context_.roles);
        }
        if (lost.message >= messages.size) continue;
        std::string& left_out = explained.turns[lost.message].left_out;
        left_out += (left_out.empty() ? "" : ", ") + std::string(chat::NameOfSource(lost.source));
      }
    }
    row.explained->push_back(std::move(explained));
  }

  /// Whether the last rendering is one to look at, of which no example can be made.
  static bool LacksText(const Row& row) {
    return row.chats.lost() != nullptr && !row.chats.lost()->empty();
  }

  Status ReadChat(const Row& row, const Value& value, std::string_view field) {
    ARROW_ASSIGN_OR_RAISE(Value messages, row.chats.ReadAnswered(value, field));
    ARROW_ASSIGN_OR_RAISE(messages, row.chats.WithSystem(messages));
    if (!options_.expand_turns) return AddChat(row, messages, options_.train_on);
    bool any = false;
    for (uint32_t i = 0; i < messages.size; ++i) {
      if (!chat::IsAssistant(messages.as.items[i], context_.roles)) continue;
      ARROW_ASSIGN_OR_RAISE(const bool is_trained, chat::IsTrained(messages.as.items[i]));
      if (!is_trained) continue;
      any = true;
      ARROW_RETURN_NOT_OK(AddChat(row, RowChats::Slice(messages, 0, i + 1), TrainOn::kLast));
    }
    // Nothing to train on: one example, which is left out and counted.
    return any ? Status::OK() : AddChat(row, messages, TrainOn::kLast);
  }

  Status AddChat(const Row& row, const Value& messages, TrainOn train_on) {
    ARROW_RETURN_NOT_OK(row.chats.RenderWhole(messages, &rendered_));
    Explain(row, messages);
    if (LacksText(row)) return Status::OK();
    SftDraft draft = {.row = row.number};
    draft.whole = row.pieces.Add(rendered_.text, /*add_special_tokens=*/false, row.number);
    if (maker_->masks_chats()) {
      ARROW_RETURN_NOT_OK(MaskChat(row, messages, train_on, &draft));
    }
    drafts_.push_back(std::move(draft));
    return Status::OK();
  }

  /// Has the last rendering trained on the assistant's turns alone.
  Status MaskChat(const Row& row, const Value& messages, TrainOn train_on, SftDraft* draft) const {
    draft->is_chat_masked = true;
    return FindTrainedTurns(messages, rendered_, row.chats, context_, train_on == TrainOn::kLast,
                            &maker_->prompts, &draft->turns);
  }

  Status ReadCompletion(const Row& row, const Value& prompt, const Value& completion) {
    SftDraft draft = {.row = row.number};
    ARROW_RETURN_NOT_OK(CheckAnswer(completion, "completion"));
    const Value answer = row.chats.AsMessages(completion);
    Value asked = row.chats.AsMessages(prompt);
    bool is_text = asked.Is(ValueKind::kNone) && answer.Is(ValueKind::kNone);
    if (is_text) {
      ARROW_ASSIGN_OR_RAISE(const bool has_system, row.chats.HasSystem());
      is_text = !has_system;
    }
    if (is_text) {
      ARROW_ASSIGN_OR_RAISE(const auto first, TextOf(prompt, "prompt"));
      ARROW_ASSIGN_OR_RAISE(const auto second, TextOf(completion, "completion"));
      AddText(row, std::string(first) + std::string(second), first.size(), &draft);
      if (maker_->masks_completions()) {
        draft.prompt = row.pieces.Add(first, draft.is_framed, row.number);
      }
      drafts_.push_back(std::move(draft));
      return Status::OK();
    }
    if (asked.Is(ValueKind::kNone)) {
      ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(prompt, "prompt"));
      asked = row.chats.Single("user", text);
    }
    Value said = answer;
    if (said.Is(ValueKind::kNone)) {
      ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(completion, "completion"));
      said = row.chats.Single("assistant", text);
    }
    ARROW_ASSIGN_OR_RAISE(asked, row.chats.Read(asked, "prompt"));
    ARROW_ASSIGN_OR_RAISE(asked, row.chats.WithSystem(asked));
    ARROW_ASSIGN_OR_RAISE(said, row.chats.ReadAnswered(said, "completion"));
    const Value messages = row.chats.Join(asked, said);
    ARROW_RETURN_NOT_OK(row.chats.RenderWhole(messages, &rendered_));
    Explain(row, messages);
    if (LacksText(row)) return Status::OK();
    draft.whole = row.pieces.Add(rendered_.text, /*add_special_tokens=*/false, row.number);
    if (options_.mask_prompt && options_.example.is_trl()) {
      // TRL's assistant_only_loss.
      ARROW_RETURN_NOT_OK(MaskChat(row, messages, options_.train_on, &draft));
    }
    if (maker_->masks_completions()) {
      ARROW_RETURN_NOT_OK(row.chats.RenderPrompt(asked, &prompt_));
      if (options_.example.is_trl()) {
        // TRL looks for the prompt's ids.
        draft.prompt = row.pieces.Add(prompt_.text, /*add_special_tokens=*/false, row.number);
      } else {
        ARROW_ASSIGN_OR_RAISE(draft.given, GivenOf(row, messages, asked.size));
      }
    }
    drafts_.push_back(std::move(draft));
    return Status::OK();
  }

  /// What of a chat's text is the last prompt, of the messages before `answer`.
  Result<size_t> GivenOf(const Row& row, const Value& messages, uint32_t answer) const {
    if (answer >= messages.size) return rendered_.text.size();
    chat::AssistantTurn turn = {answer, 0, rendered_.text.size()};
    for (const jinja::Mark& mark : rendered_.marks) {
      if (mark.kind != jinja::Mark::Kind::kMessage || mark.message != answer) continue;
      turn.begin = mark.begin;
      turn.end = mark.end;
    }
    OpeningFinder openings(messages, rendered_, row.chats, context_, &maker_->prompts);
    return openings.FindBy(turn, prompt_.text);
  }

  Status KeepIds(const Row& row, std::vector<int32_t> ids) {
    SftDraft draft = {.row = row.number, .is_given = true, .ids = std::move(ids)};
    const SftColumns& columns = maker_->columns_made;
    const struct {
      std::string_view field;
      int column;
      std::optional<std::vector<int32_t>>* values;
    } given[] = {{kAttentionMask, columns.attention_mask, &draft.attention_mask},
                 {kCompletionMask, columns.completion_mask, &draft.completion_mask},
                 {kAssistantMasks, columns.assistant_masks, &draft.assistant_masks},
                 {kLabels, columns.labels, &draft.labels}};
    for (const auto& each : given) {
      ARROW_ASSIGN_OR_RAISE(*each.values, MaskOf(row.fields, each.field, draft.ids.size()));
      if (!each.values->has_value() || each.column >= 0 || maker_->keeps(each.field)) continue;
      // Ones say no more than that there is no mask.
      const bool says_something =
          each.field == kLabels || std::any_of((*each.values)->begin(), (*each.values)->end(),
                                               [](int32_t value) { return value != 1; });
      if (says_something) return NoColumnFor(each.field);
    }
    drafts_.push_back(std::move(draft));
    return Status::OK();
  }

  /// The error of a row that has what the first ones do not have.
  static Status NoColumnFor(std::string_view field) {
    return Status::Invalid(
        "the row is tokenized and has '", field,
        "', but the first rows do not tell that such rows come, so that there is no column for it: "
        "ask for it by ",
        field == kLabels ? std::string("labels=True")
                         : "keep_columns=['" + std::string(field) + "']");
  }

  Status WriteExample(const SftDraft& draft, const TextPieces& pieces,
                      ExampleWriter* writer) const {
    std::vector<int32_t> ids = draft.ids;
    const std::vector<int32_t> attention = draft.attention_mask.value_or(std::vector<int32_t>());
    std::vector<int32_t> completion;
    std::vector<int32_t> assistant;
    if (draft.whole >= 0) {
      const auto encoded = pieces.ids(draft.whole);
      ids.assign(encoded.begin(), encoded.end());
    }
    if (draft.ends_in_eos) {
      std::span<const int32_t> after;
      if (draft.is_framed) after = maker_->frame.after;
      EndInEos(context_.tokens, after, &ids);
    }
    if (draft.prompt >= 0) {
      const size_t begin = CommonPrefix(WithoutEnd(pieces.ids(draft.prompt), draft), ids);
      completion.assign(ids.size(), 1);
      std::fill(completion.begin(), completion.begin() + static_cast<std::ptrdiff_t>(begin), 0);
    } else if (draft.given.has_value()) {
      std::vector<size_t> ends;
      ARROW_RETURN_NOT_OK(context_.span_finder.Find(pieces.text(draft.whole), ids, &ends));
      const size_t begin = FirstWritten(ends, *draft.given);
      completion.assign(ids.size(), 1);
      std::fill(completion.begin(), completion.begin() + static_cast<std::ptrdiff_t>(begin), 0);
    } else if (draft.completion_mask.has_value()) {
      completion = *draft.completion_mask;
    }
    if (draft.is_chat_masked) {
      ARROW_RETURN_NOT_OK(
          MaskTurns(pieces.text(draft.whole), ids, draft.turns, context_.span_finder, &assistant));
    } else if (draft.assistant_masks.has_value()) {
      assistant = *draft.assistant_masks;
    }
    std::vector<int32_t> labels;
    if (draft.labels.has_value()) {
      labels = *draft.labels;
    } else {
      labels = ids;
      for (size_t i = 0; i < ids.size(); ++i) {
        const bool is_trained = (completion.empty() || completion[i] != 0) &&
                                (assistant.empty() || assistant[i] != 0) &&
                                (attention.empty() || attention[i] != 0);
        if (!is_trained) labels[i] = kIgnored;
      }
    }
    const auto total = static_cast<int64_t>(ids.size());
    const bool is_masked =
        !completion.empty() || !assistant.empty() || !attention.empty() || draft.labels.has_value();
    if (!draft.is_given && options_.truncation && options_.max_length.has_value() &&
        total > *options_.max_length) {
      const Kept kept = WhatStays(total, draft);
      for (std::vector<int32_t>* column : {&ids, &completion, &assistant, &labels}) {
        if (!column->empty()) *column = kept.Of(*column);
      }
      writer->Cut(draft.row, total - static_cast<int64_t>(ids.size()));
    }
    const bool is_trained =
        std::any_of(labels.begin(), labels.end(), [](int32_t label) { return label != kIgnored; });
    if (!is_trained && (is_masked || options_.example.is_trl())) {
      writer->Leave(draft.row, kNoLossReason, static_cast<int64_t>(ids.size()));
      return Status::OK();
    }
    Filling filling = {.value = context_.tokens.pad_id, .left = context_.tokens.pad_left};
    if (!draft.is_given && options_.example.has_fixed_shapes()) {
      filling.length = options_.max_length.value_or(0);
    }
    const auto length = static_cast<int64_t>(ids.size());
    writer->Put(0, ids, filling);
    const SftColumns& columns = maker_->columns_made;
    const auto put_mask = [&](int column, const std::vector<int32_t>& mask) {
      if (column < 0) return;
      if (mask.empty()) {
        writer->PutOnes(static_cast<size_t>(column), length, filling);
      } else {
        writer->Put(static_cast<size_t>(column), mask, {filling.length, 0, filling.left});
      }
    };
    put_mask(columns.attention_mask, attention);
    put_mask(columns.completion_mask, completion);
    put_mask(columns.assistant_masks, assistant);
    if (columns.labels >= 0) {
      writer->Put(static_cast<size_t>(columns.labels), labels,
                  {filling.length, kIgnored, filling.left});
    }
    writer->EndExample(draft.row);
    return Status::OK();
  }

  /// A prompt's ids without the special tokens that end a text of its own.
  std::span<const int32_t> WithoutEnd(std::span<const int32_t> ids, const SftDraft& draft) const {
    const size_t end = draft.is_framed ? maker_->frame.after.size() : 0;
    return ids.size() >= end ? ids.first(ids.size() - end) : ids;
  }

  /// What stays of an example that is too long.
  struct Kept {
    int64_t begin;
    int64_t end;
    int64_t tail;  // tokens of the end that stay, too

    std::vector<int32_t> Of(const std::vector<int32_t>& all) const {
      std::vector<int32_t> kept(all.begin() + begin, all.begin() + end);
      kept.insert(kept.end(), all.end() - tail, all.end());
      return kept;
    }
  };
  Kept WhatStays(int64_t total, const SftDraft& draft) const {
    const int64_t most = *options_.max_length;
    if (options_.truncation_mode == TruncationMode::kKeepEnd) return {total - most, total, 0};
    // EasyDeL's tokenizers cut the text and keep the special tokens around it; TRL cuts ids.
    const int64_t tail = draft.is_framed && !options_.example.is_trl()
                             ? static_cast<int64_t>(maker_->frame.after.size())
                             : 0;
    return tail < most ? Kept{0, most - tail, tail} : Kept{0, most, 0};
  }

  const std::shared_ptr<const SftMaker> maker_;
  const SftOptions& options_;
  const ExampleContext& context_;
  const std::string bos_text_ = context_.tokens.bos_text;
  std::vector<SftDraft> drafts_;
  chat::RenderedChat rendered_;
  chat::RenderedChat prompt_;
};

std::unique_ptr<ExampleDrafts> SftMaker::Start() const {
  return std::make_unique<SftDrafts>(shared_from_this());
}

std::shared_ptr<const ExampleMaker> SftMaker::For(const RowForms& rows) const {
  GivenExamples found = {.is_all = rows.is_all};
  for (const std::string_view field : kGivenFields) {
    const bool is_there =
        std::any_of(rows.forms.begin(), rows.forms.end(),
                    [&](const auto& fields) { return Has(fields, kIds) && Has(fields, field); });
    if (is_there && (field == kIds || !keeps(field))) found.fields.emplace_back(field);
  }
  if (found.fields.empty()) return nullptr;
  for (const auto& fields : rows.forms) found.is_all = found.is_all && !may_be_text(fields);
  return std::make_shared<SftMaker>(context, options, frame, std::move(found));
}

}  // namespace

Result<std::shared_ptr<const ExampleMaker>> SftExamples(
    std::shared_ptr<const ExampleContext> context, const SftOptions& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  ARROW_ASSIGN_OR_RAISE(SpecialFrame frame, FindSpecialFrame(*context->encoder));
  return std::make_shared<SftMaker>(std::move(context), options, std::move(frame));
}

}  // namespace easydata::trainer
