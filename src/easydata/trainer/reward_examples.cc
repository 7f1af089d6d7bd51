#include <algorithm>
#include <utility>

#include "easydata/config/descriptor.h"
#include "easydata/trainer/answers.h"
#include "easydata/trainer/example_maker.h"
#include "easydata/trainer/text_end.h"

namespace easydata::trainer {
namespace {

using jinja::Value;
using jinja::ValueKind;

/// By how much the chosen answer is the better one.
constexpr const char kMargin[] = "margin";

struct RewardMaker : ExampleMaker, std::enable_shared_from_this<RewardMaker> {
  RewardMaker(std::shared_ptr<const ExampleContext> context, const RewardOptions& options,
              SpecialFrame frame, bool has_margins = false)
      : context(std::move(context)),
        options(options),
        frame(std::move(frame)),
        has_margins(has_margins) {}

  const char* name() const override { return "reward"; }
  std::vector<std::string> fields() const override {
    std::vector<std::string> names = {"prompt", "chosen", "rejected", "tools",
                                      "chat_template_kwargs"};
    for (const ExampleWriter::Column& column : made) names.push_back(column.name);
    return names;
  }
  std::vector<std::string> unnamed_fields() const override {
    std::vector<std::string> names = OtherAnswerFields();
    names.emplace_back(kMargin);
    return names;
  }
  std::vector<ExampleWriter::Column> columns() const override {
    std::vector<ExampleWriter::Column> all = made;
    if (has_margins) all.push_back({kMargin, ExampleWriter::Kind::kNumber});
    return all;
  }
  std::vector<ExampleWriter::Column> columns_of_tokens() const {
    if (options.example.is_trl()) return {{"chosen_ids"}, {"rejected_ids"}};
    constexpr auto kMask = ExampleWriter::Kind::kMask;
    return {{"input_ids_chosen"},
            {"attention_mask_chosen", kMask},
            {"input_ids_rejected"},
            {"attention_mask_rejected", kMask}};
  }
  std::unique_ptr<ExampleDrafts> Start() const override;
  config::Json described() const override { return config::WriteConfig(options); }
  const ExampleOptions& example_options() const override { return options.example; }
  std::shared_ptr<const ExampleMaker> For(const RowForms& rows) const override {
    const bool is_there = std::any_of(rows.forms.begin(), rows.forms.end(), [](const auto& fields) {
      return std::find(fields.begin(), fields.end(), kMargin) != fields.end();
    });
    if (!is_there || keeps(kMargin)) return nullptr;
    return std::make_shared<RewardMaker>(context, options, frame, /*has_margins=*/true);
  }

  const std::shared_ptr<const ExampleContext> context;
  const RewardOptions options;
  const std::vector<ExampleWriter::Column> made = columns_of_tokens();
  const SpecialFrame frame;
  const bool has_margins;
};

struct RewardDraft {
  int64_t row = 0;
  bool is_framed = false;
  int pieces[2] = {-1, -1};
  double margin = 0.0;
  std::vector<std::vector<int32_t>> made = {};
};

class RewardDrafts : public ExampleDrafts {
 public:
  explicit RewardDrafts(std::shared_ptr<const RewardMaker> maker) : maker_(std::move(maker)) {}

  Status Read(const Row& row) override {
    RewardDraft draft = {.row = row.number};
    const bool is_trl = maker_->options.example.is_trl();
    ARROW_ASSIGN_OR_RAISE(draft.margin, MarginOf(row.fields));
    ARROW_ASSIGN_OR_RAISE(auto made, MadeColumns(row.fields, maker_->made[0].name, maker_->made));
    if (made.has_value()) {
      draft.made = *std::move(made);
      drafts_.push_back(std::move(draft));
      return Status::OK();
    }
    std::string texts[2];
    size_t begun = 0;  // bytes of the prompt before each text
    ARROW_RETURN_NOT_OK(ReadPair(row, texts, &draft.is_framed, &begun));
    const TokenRoles& tokens = maker_->context->tokens;
    for (size_t side = 0; side < 2; ++side) {
      std::string_view text = texts[side];
      // In layout easydel a text ends as it does.
      if (is_trl && draft.is_framed) text = WithoutEos(text, tokens, begun);
      bool is_framed = draft.is_framed;
      // A text that begins with BOS gets no second one.
      if (!is_trl && tokens.are_spelled && !tokens.bos_text.empty() &&
          !maker_->frame.before.empty() && text.starts_with(tokens.bos_text)) {
        is_framed = false;
      }
      draft.pieces[side] = row.pieces.Add(text, is_framed, row.number);
    }
    drafts_.push_back(std::move(draft));
    return Status::OK();
  }

  Status Write(const TextPieces& pieces, ExampleWriter* writer) const override {
    const bool is_trl = maker_->options.example.is_trl();
    for (const RewardDraft& draft : drafts_) {
      if (!draft.made.empty()) {
        for (size_t i = 0; i < draft.made.size(); ++i) writer->Put(i, draft.made[i]);
        EndExample(draft, writer);
      } else if (is_trl) {
        WriteTrl(draft, pieces, writer);
      } else {
        WriteEasydel(draft, pieces, writer);
      }
    }
    return Status::OK();
  }

 private:
  /// The margin of a row; 0 where there is no column for it.
  Result<double> MarginOf(const chat::RowFields& fields) const {
    if (maker_->keeps(kMargin)) return 0.0;
    ARROW_ASSIGN_OR_RAISE(const Value value, fields.Get(kMargin));
    if (value.Is(ValueKind::kNone)) {
      if (!maker_->has_margins) return 0.0;
      return Status::KeyError(
          "the row has no 'margin', which others have: give every row one (0 is none), or leave "
          "the column out by drop_fields('margin')");
    }
    if (!maker_->has_margins) {
      return Status::Invalid(
          "the row has a 'margin', which none of the first rows has, so that there is no column "
          "for it: give every row one (0 is none), or ask for it by keep_columns=['margin']");
    }
    if (value.Is(ValueKind::kInteger)) return static_cast<double>(value.as.integer);
    if (value.Is(ValueKind::kFloat)) return value.as.number;
    return Status::TypeError("field 'margin' must hold a number: by how much chosen is better");
  }

  void EndExample(const RewardDraft& draft, ExampleWriter* writer) const {
    if (maker_->has_margins) writer->PutNumber(maker_->made.size(), draft.margin);
    writer->EndExample(draft.row);
  }

  /// The texts of both sides, the prompt before each; `is_text` where they are no chats, and
  /// `begun` then how many bytes of prompt.
  Status ReadPair(const Row& row, std::string* texts, bool* is_text, size_t* begun) {
    GivenAnswers given;
    ARROW_RETURN_NOT_OK(FindPair(row, &given));
    ARROW_RETURN_NOT_OK(CheckPair(given.answers[0], given.answers[1]));
    const bool are_chats[2] = {IsChat(given.answers[0]), IsChat(given.answers[1])};
    const Value asked = row.chats.AsMessages(given.prompt);
    ARROW_ASSIGN_OR_RAISE(const bool has_system, row.chats.HasSystem());
    *is_text = !are_chats[0] && !are_chats[1] && asked.Is(ValueKind::kNone) && !has_system;
    if (*is_text) {
      ARROW_RETURN_NOT_OK(CheckPrompt(row, given));
      std::string_view before;
      if (!given.prompt.Is(ValueKind::kNone)) {
        ARROW_ASSIGN_OR_RAISE(before, TextOf(given.prompt, given.prompt_field));
      }
      std::string_view said[2];
      for (size_t side = 0; side < 2; ++side) {
        ARROW_ASSIGN_OR_RAISE(said[side], TextOf(given.answers[side], given.fields[side]));
      }
      // Data sets that have the prompt in the answers, too.
      const bool is_inside = !maker_->options.example.is_trl() && said[0].starts_with(before) &&
                             said[1].starts_with(before);
      if (is_inside) before = {};
      *begun = before.size();
      for (size_t side = 0; side < 2; ++side) {
        texts[side] = std::string(before) + std::string(said[side]);
      }
      return Status::OK();
    }
    // Whole conversations need no prompt.
    const bool has_prompt = !given.prompt.Is(ValueKind::kNone);
    if (has_prompt || !are_chats[0] || !are_chats[1]) {
      AnswerTexts answers;
      ARROW_RETURN_NOT_OK(ReadAnswers(row, AnswerKind::kPair, &answers));
      for (size_t side = 0; side < 2; ++side) texts[side] = std::move(answers.whole[side]);
      return Status::OK();
    }
    chat::RenderedChat rendered;
    for (size_t side = 0; side < 2; ++side) {
      ARROW_ASSIGN_OR_RAISE(const Value messages, row.chats.WithSystem(given.answers[side]));
      ARROW_RETURN_NOT_OK(row.chats.RenderWhole(messages, &rendered));
      texts[side] = std::move(rendered.text);
    }
    return Status::OK();
  }

  /// The ids of a side; those of a text end in EOS.
  std::vector<int32_t> EndedIds(const RewardDraft& draft, size_t side,
                                const TextPieces& pieces) const {
    const auto encoded = pieces.ids(draft.pieces[side]);
    std::vector<int32_t> ids(encoded.begin(), encoded.end());
    if (draft.is_framed) EndInEos(maker_->context->tokens, maker_->frame.after, &ids);
    return ids;
  }

  void WriteTrl(const RewardDraft& draft, const TextPieces& pieces, ExampleWriter* writer) const {
    const std::vector<int32_t> chosen = EndedIds(draft, 0, pieces);
    const std::vector<int32_t> rejected = EndedIds(draft, 1, pieces);
    const auto longest = static_cast<int64_t>(std::max(chosen.size(), rejected.size()));
    if (maker_->options.max_length.has_value() && longest > *maker_->options.max_length) {
      writer->Leave(draft.row, kTooLongReason,
                    static_cast<int64_t>(chosen.size() + rejected.size()));
      return;
    }
    writer->Put(0, chosen);
    writer->Put(1, rejected);
    EndExample(draft, writer);
  }

  void WriteEasydel(const RewardDraft& draft, const TextPieces& pieces,
                    ExampleWriter* writer) const {
    const RewardOptions& options = maker_->options;
    const TokenRoles& tokens = maker_->context->tokens;
    Filling filling = {.value = tokens.pad_id, .left = tokens.pad_left};
    if (options.example.has_fixed_shapes()) filling.length = options.max_length.value_or(0);
    int64_t cut = 0;
    for (size_t side = 0; side < 2; ++side) {
      std::span<const int32_t> ids = pieces.ids(draft.pieces[side]);
      std::vector<int32_t> kept(ids.begin(), ids.end());
      if (options.truncation && options.max_length.has_value() &&
          static_cast<int64_t>(ids.size()) > *options.max_length) {
        cut += static_cast<int64_t>(ids.size()) - *options.max_length;
        const auto tail =
            draft.is_framed ? static_cast<int64_t>(maker_->frame.after.size()) : int64_t{0};
        const int64_t head = std::max<int64_t>(0, *options.max_length - tail);
        kept.assign(ids.begin(), ids.begin() + head);
        kept.insert(kept.end(), ids.end() - (*options.max_length - head), ids.end());
      }
      const auto length = static_cast<int64_t>(kept.size());
      writer->Put(2 * side, kept, filling);
      writer->PutOnes(2 * side + 1, length, filling);
    }
    writer->Cut(draft.row, cut);
    EndExample(draft, writer);
  }

  const std::shared_ptr<const RewardMaker> maker_;
  std::vector<RewardDraft> drafts_;
};

std::unique_ptr<ExampleDrafts> RewardMaker::Start() const {
  return std::make_unique<RewardDrafts>(shared_from_this());
}

}  // namespace

Result<std::shared_ptr<const ExampleMaker>> RewardExamples(
    std::shared_ptr<const ExampleContext> context, const RewardOptions& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  ARROW_ASSIGN_OR_RAISE(SpecialFrame frame, FindSpecialFrame(*context->encoder));
  return std::make_shared<RewardMaker>(std::move(context), options, std::move(frame));
}

}  // namespace easydata::trainer
