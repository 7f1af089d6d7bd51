#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/named_value.h"
#include "easydata/config/field.h"

namespace easydata::trainer {

/// Whose columns and values examples have.
enum class Layout { kEasydel, kTrl };
std::span<const NamedValue<Layout>> NamesOf(Layout);

/// Which of the assistant's turns are trained on.
enum class TrainOn { kAll, kLast };
std::span<const NamedValue<TrainOn>> NamesOf(TrainOn);

/// Which end of what is too long stays.
enum class TruncationMode { kKeepStart, kKeepEnd };
std::span<const NamedValue<TruncationMode>> NamesOf(TruncationMode);

/// What becomes of reasoning that a template leaves out, of answers that say nothing.
enum class Reasoning { kError, kDrop };
std::span<const NamedValue<Reasoning>> NamesOf(Reasoning);
enum class EmptyAnswers { kError, kSkip };
std::span<const NamedValue<EmptyAnswers>> NamesOf(EmptyAnswers);

/// What all examples have in common.
struct ExampleOptions {
  Layout layout = Layout::kEasydel;
  std::optional<bool> fixed_shapes;
  std::optional<std::vector<std::string>> keep_columns;
  std::optional<bool> parse_arguments;
  Reasoning reasoning = Reasoning::kError;
  EmptyAnswers empty_answers = EmptyAnswers::kError;

  bool is_trl() const { return layout == Layout::kTrl; }
  bool has_fixed_shapes() const { return fixed_shapes.value_or(!is_trl()); }

  static config::FieldList Fields() {
    using O = ExampleOptions;
    return {
        config::Field{"layout", &O::layout,
                      "Columns and values of EasyDeL's trainers, or just those that TRL makes."},
        config::Field{"fixed_shapes", &O::fixed_shapes,
                      "Pad examples to EasyDeL's shapes. Unset: in layout easydel; else, and with "
                      "False, rows have their own lengths, and a loader pads them."},
        config::Field{"keep_columns", &O::keep_columns,
                      "Columns of the rows to keep along with what is made."},
        config::Field{"parse_arguments", &O::parse_arguments,
                      "Hand arguments of tool calls that are JSON text to the template as what "
                      "they say (True) or as text (False). Unset: as the template wants them."},
        config::Field{"reasoning", &O::reasoning,
                      "What becomes of reasoning that the chat template leaves out, but for that "
                      "of earlier turns: an error of its row, or nothing, where it is meant."},
        config::Field{"empty_answers", &O::empty_answers,
                      "Answers that say nothing: an error of their row, or the row is left out "
                      "and counted."},
    };
  }
};

/// What renders chats.
inline constexpr config::Parameter kTemplateParameters[] = {
    {"chat_template", "A template in place of the tokenizer's: its text, or the path of its file."},
    {"chat_template_kwargs",
     "Further variables for the template, such as enable_thinking; a row's own field of this name "
     "takes precedence."},
    {"role_mapping", "Roles of more names that from/value messages have."},
    {"template_date",
     "The date that a template prints (strftime_now), such as \"2026-11-27\"; unset: "
     "the day of the first build, which saved states keep."},
};
inline constexpr config::Parameter kToolsParameter = {
    "tools", "Functions, or their JSON schemas, for chats that have no `tools` of their own."};

/// `own` and the parameters of templates.
inline std::vector<config::Parameter> WithTemplate(std::vector<config::Parameter> own) {
  own.insert(own.end(), std::begin(kTemplateParameters), std::end(kTemplateParameters));
  return own;
}

struct SftOptions {
  static constexpr const char* kName = "SftOptions";
  static constexpr const char* kDoc = "The options of examples for supervised fine-tuning.";
  static constexpr const char* kNodes[] = {"examples"};

  ExampleOptions example;
  std::optional<int64_t> max_length;
  std::string text_field = "text";
  std::string messages_field = "messages";
  bool mask_prompt = false;
  bool add_eos = true;
  bool truncation = true;
  TruncationMode truncation_mode = TruncationMode::kKeepStart;
  std::optional<bool> labels;
  std::optional<bool> completion_only_loss;
  TrainOn train_on = TrainOn::kAll;
  bool expand_turns = false;

  bool has_labels() const { return labels.value_or(example.is_trl()); }

  static config::FieldList Fields() {
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
             config::Field{"truncation", &O::truncation, "Cut examples to max_length."}.Beside(
                 "max_length"),
             config::Field{"truncation_mode", &O::truncation_mode,
                           "Which end of an example that is too long stays."}
                 .Beside("max_length")
                 .Beside("truncation", {true}),
             config::Field{"labels", &O::labels,
                           "Make a column labels: the ids that are trained on, -100 elsewhere. "
                           "Unset: in layout trl."},
             config::Field{"completion_only_loss", &O::completion_only_loss,
                           "Train on the completions of prompts alone. Unset: as mask_prompt says; "
                           "in layout trl yes, as in TRL."},
             config::Field{
                 "train_on", &O::train_on,
                 "Which of the assistant's turns are trained on, where chats are masked."},
             config::Field{
                 "expand_turns", &O::expand_turns,
                 "Make an example of each of the assistant's turns, trained on that turn: "
                 "templates that rewrite earlier turns then show the model what it will "
                 "see."},
         },
         config::FieldsOf(&O::example)});
  }
  static std::vector<config::Parameter> Parameters() {
    return WithTemplate(
        {{"formatting_func",
          "A pure function of a row, called first; returns its text, or its fields."}});
  }
  Status Validate() const;
};

/// What examples with answers to a prompt have in common.
struct AnswerOptions {
  std::optional<int64_t> max_prompt_length;
  std::optional<int64_t> max_completion_length;
  bool add_special_tokens = false;
  int32_t label_pad_token_id = -100;
  std::optional<int64_t> max_length;

  static config::FieldList Fields() {
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
                      "Label of tokens that are not trained on."}
            .Beside("layout", {"easydel"}),
        config::Field{"max_length", &O::max_length,
                      "Layout trl: rows whose prompt alone has so many tokens are left out, as in "
                      "TRL, which cuts the others."}
            .AtLeast(1),
    };
  }
};

struct PreferenceOptions {
  static constexpr const char* kName = "PreferenceOptions";
  static constexpr const char* kDoc =
      "The options of examples with a chosen and a rejected answer.";
  static constexpr const char* kNodes[] = {"examples"};

  ExampleOptions example;
  AnswerOptions answer;
  TruncationMode truncation_mode = TruncationMode::kKeepStart;

  static config::FieldList Fields() {
    using O = PreferenceOptions;
    return config::Joined(
        {config::FieldsOf(&O::answer),
         {config::Field{
             "truncation_mode", &O::truncation_mode,
             "Layout trl: which end of an example TRL keeps; with keep_end no row is left out."}
              .Beside("layout", {"trl"})
              .Beside("max_length")},
         config::FieldsOf(&O::example)});
  }
  static std::vector<config::Parameter> Parameters() { return WithTemplate({kToolsParameter}); }
  Status Validate() const;
};

struct UnpairedOptions {
  static constexpr const char* kName = "UnpairedOptions";
  static constexpr const char* kDoc = "The options of examples with one answer, good or bad.";
  static constexpr const char* kNodes[] = {"examples"};

  ExampleOptions example;
  AnswerOptions answer;

  static config::FieldList Fields() {
    using O = UnpairedOptions;
    return config::Joined({config::FieldsOf(&O::answer), config::FieldsOf(&O::example)});
  }
  static std::vector<config::Parameter> Parameters() {
    return WithTemplate({kToolsParameter,
                         {"embedding_tokenizer",
                          "A second tokenizer, which encodes prompts for a density estimate."}});
  }
  Status Validate() const;
};

struct PromptOptions {
  static constexpr const char* kName = "PromptOptions";
  static constexpr const char* kDoc =
      "The options of prompts, which a trainer has answered itself.";
  static constexpr const char* kNodes[] = {"examples"};

  ExampleOptions example;
  std::optional<int64_t> max_prompt_length;
  bool skip_apply_chat_template = false;

  static config::FieldList Fields() {
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
  static std::vector<config::Parameter> Parameters() { return WithTemplate({kToolsParameter}); }
  Status Validate() const;
};

struct RewardOptions {
  static constexpr const char* kName = "RewardOptions";
  static constexpr const char* kDoc = "The options of answer pairs for reward models.";
  static constexpr const char* kNodes[] = {"examples"};

  ExampleOptions example;
  std::optional<int64_t> max_length;
  bool truncation = true;

  static config::FieldList Fields() {
    using O = RewardOptions;
    return config::Joined(
        {{
             config::Field{"max_length", &O::max_length,
                           "Most tokens of an example; None: as many as there are. In layout trl a "
                           "pair with a longer one is left out, as in TRL."}
                 .AtLeast(1),
             config::Field{"truncation", &O::truncation, "Cut examples to max_length."}.Beside(
                 "max_length"),
         },
         config::FieldsOf(&O::example)});
  }
  static std::vector<config::Parameter> Parameters() { return WithTemplate({}); }
  Status Validate() const;
};

struct EmbeddingOptions {
  static constexpr const char* kName = "EmbeddingOptions";
  static constexpr const char* kDoc = "The options of examples for embedding models.";
  static constexpr const char* kNodes[] = {"examples"};

  ExampleOptions example;
  int64_t max_length = 512;
  std::string query_field = "query";
  std::string positive_field = "positive";
  std::optional<std::string> negative_field;

  static config::FieldList Fields() {
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
  Status Validate() const;
};

}  // namespace easydata::trainer
