#include "easydata/trainer/example_options.h"

#include "easydata/config/descriptor.h"

namespace easydata::trainer {
namespace {

constexpr NamedValue<Layout> kLayouts[] = {{"easydel", Layout::kEasydel}, {"trl", Layout::kTrl}};
constexpr NamedValue<TrainOn> kTrainedTurns[] = {{"all", TrainOn::kAll}, {"last", TrainOn::kLast}};
constexpr NamedValue<TruncationMode> kModes[] = {{"keep_start", TruncationMode::kKeepStart},
                                                 {"keep_end", TruncationMode::kKeepEnd}};

/// TRL pads in its collators.
Status CheckShapes(const ExampleOptions& options) {
  if (!options.is_trl() || !options.has_fixed_shapes()) return Status::OK();
  return Status::Invalid("fixed_shapes=True is for layout=\"easydel\": TRL's collators pad");
}

/// An option of one layout that is set in the other.
Status OnlyIn(const ExampleOptions& options, Layout layout, const char* name, bool is_set) {
  if (!is_set || options.layout == layout) return Status::OK();
  return Status::Invalid(name, " is for layout=\"", NameOf(kLayouts, layout),
                         "\"; the layout is \"", NameOf(kLayouts, options.layout), "\"");
}

template <typename O>
Status CheckAnswers(const O& options) {
  ARROW_RETURN_NOT_OK(config::CheckOptions(options));
  ARROW_RETURN_NOT_OK(CheckShapes(options.example));
  ARROW_RETURN_NOT_OK(OnlyIn(options.example, Layout::kEasydel, "max_prompt_length",
                             options.answer.max_prompt_length.has_value()));
  ARROW_RETURN_NOT_OK(OnlyIn(options.example, Layout::kEasydel, "max_completion_length",
                             options.answer.max_completion_length.has_value()));
  ARROW_RETURN_NOT_OK(OnlyIn(options.example, Layout::kEasydel, "add_special_tokens",
                             options.answer.add_special_tokens));
  return OnlyIn(options.example, Layout::kTrl, "max_length", options.answer.max_length.has_value());
}

}  // namespace

config::FieldList ExampleOptions::Fields() {
  using O = ExampleOptions;
  return {
      config::Field{"layout", &O::layout,
                    "Columns and values of EasyDeL's trainers, or just those that TRL makes."},
      config::Field{"fixed_shapes", &O::fixed_shapes,
                    "Pad examples to EasyDeL's shapes. Unset: in layout easydel; else, and with "
                    "False, rows have their own lengths, and a loader pads them."},
      config::Field{"keep_columns", &O::keep_columns,
                    "Columns of the rows to keep beside what is made."},
      config::Field{"parse_arguments", &O::parse_arguments,
                    "Hand arguments of tool calls that are JSON text to the template as what "
                    "they say, not as text."},
  };
}

config::FieldList SftOptions::Fields() {
  using O = SftOptions;
  return config::Joined(
      {{
           config::Field{"max_length", &O::max_length,
                         "Most tokens of an example; None: as many as there are."}
               .AtLeast(1),
           config::Field{"text_field", &O::text_field, "Field of texts."},
           config::Field{"messages_field", &O::messages_field,
                         "Field of conversations; messages, conversations and conversation are "
                         "looked at, too."},
           config::Field{"mask_prompt", &O::mask_prompt,
                         "Train on what the model writes alone: the assistant's turns of a chat, "
                         "the completion of a prompt."},
           config::Field{"add_eos", &O::add_eos,
                         "End texts and completions with the EOS token, where they do not yet."},
           config::Field{"truncation", &O::truncation, "Cut examples to max_length."},
           config::Field{"truncation_mode", &O::truncation_mode,
                         "Which end of an example that is too long stays."},
           config::Field{"labels", &O::labels,
                         "Make a column labels: the ids that are trained on, -100 elsewhere. "
                         "Unset: in layout trl."},
           config::Field{"completion_only_loss", &O::completion_only_loss,
                         "Train on the completions of prompts alone. Unset: as mask_prompt says; "
                         "in layout trl yes, as in TRL."},
           config::Field{"train_on", &O::train_on,
                         "Which of the assistant's turns are trained on, where chats are masked."},
           config::Field{"expand_turns", &O::expand_turns,
                         "Make an example of each of the assistant's turns, trained on that turn: "
                         "templates that rewrite earlier turns then show the model what it will "
                         "see."},
       },
       config::FieldsOf(&O::example)});
}

config::FieldList AnswerOptions::Fields() {
  using O = AnswerOptions;
  return {
      config::Field{"max_prompt_length", &O::max_prompt_length,
                    "Most tokens of a prompt, of which the last ones stay."}
          .AtLeast(1),
      config::Field{"max_completion_length", &O::max_completion_length,
                    "Most tokens of an answer, of which the first ones stay."}
          .AtLeast(1),
      config::Field{"add_special_tokens", &O::add_special_tokens,
                    "Begin prompts with the BOS token, where they do not yet."},
      config::Field{"label_pad_token_id", &O::label_pad_token_id,
                    "Label of tokens that are not trained on."},
      config::Field{"max_length", &O::max_length,
                    "Layout trl: rows whose prompt alone has so many tokens are left out, as in "
                    "TRL, which cuts the others."}
          .AtLeast(1),
  };
}

config::FieldList PreferenceOptions::Fields() {
  using O = PreferenceOptions;
  return config::Joined(
      {config::FieldsOf(&O::answer),
       {config::Field{
           "truncation_mode", &O::truncation_mode,
           "Layout trl: which end of an example TRL keeps; with keep_end no row is left out."}},
       config::FieldsOf(&O::example)});
}

config::FieldList UnpairedOptions::Fields() {
  using O = UnpairedOptions;
  return config::Joined({config::FieldsOf(&O::answer), config::FieldsOf(&O::example)});
}

config::FieldList PromptOptions::Fields() {
  using O = PromptOptions;
  return config::Joined(
      {{
           config::Field{"max_prompt_length", &O::max_prompt_length,
                         "Most tokens of a prompt, of which the last ones stay."}
               .AtLeast(1),
           config::Field{"skip_apply_chat_template", &O::skip_apply_chat_template,
                         "Take prompts as text that is rendered already; a chat is then an error "
                         "of its row."},
       },
       config::FieldsOf(&O::example)});
}

config::FieldList RewardOptions::Fields() {
  using O = RewardOptions;
  return config::Joined(
      {{
           config::Field{"max_length", &O::max_length,
                         "Most tokens of an example; None: as many as there are. In layout trl a "
                         "pair with a longer one is left out, as in TRL."}
               .AtLeast(1),
           config::Field{"truncation", &O::truncation, "Cut examples to max_length."},
       },
       config::FieldsOf(&O::example)});
}

config::FieldList EmbeddingOptions::Fields() {
  using O = EmbeddingOptions;
  return config::Joined(
      {{
           config::Field{"max_length", &O::max_length, "Most tokens of a text."}.AtLeast(1),
           config::Field{"query_field", &O::query_field, "Field of the text that is looked for."},
           config::Field{"positive_field", &O::positive_field,
                         "Field of the text that is to be found."},
           config::Field{"negative_field", &O::negative_field,
                         "Field of a text that is not to be found, if there is one."},
       },
       config::FieldsOf(&O::example)});
}

std::span<const NamedValue<Layout>> NamesOf(Layout) { return kLayouts; }
std::span<const NamedValue<TrainOn>> NamesOf(TrainOn) { return kTrainedTurns; }
std::span<const NamedValue<TruncationMode>> NamesOf(TruncationMode) { return kModes; }

Status SftOptions::Validate() const {
  ARROW_RETURN_NOT_OK(config::CheckOptions(*this));
  ARROW_RETURN_NOT_OK(CheckShapes(example));
  if (train_on != TrainOn::kAll && !mask_prompt && !expand_turns) {
    return Status::Invalid("train_on=\"last\" needs mask_prompt=True: without it every token is ",
                           "trained on");
  }
  if (train_on != TrainOn::kAll && expand_turns) {
    return Status::Invalid(
        "train_on=\"last\" and expand_turns=True exclude each other: an example ",
        "of each turn trains on all of them");
  }
  return Status::OK();
}

Status PreferenceOptions::Validate() const { return CheckAnswers(*this); }

Status UnpairedOptions::Validate() const { return CheckAnswers(*this); }

Status PromptOptions::Validate() const {
  ARROW_RETURN_NOT_OK(config::CheckOptions(*this));
  if (!example.is_trl()) return Status::OK();
  return Status::Invalid(
      "layout=\"trl\": TRL's trainers tokenize prompts while they generate; hand them the rows as "
      "they are: source.to_hf()");
}

Status RewardOptions::Validate() const {
  ARROW_RETURN_NOT_OK(config::CheckOptions(*this));
  return CheckShapes(example);
}

Status EmbeddingOptions::Validate() const {
  ARROW_RETURN_NOT_OK(config::CheckOptions(*this));
  if (!example.is_trl()) return Status::OK();
  return Status::Invalid("layout=\"trl\": TRL has no trainer of embedding models");
}

}  // namespace easydata::trainer
