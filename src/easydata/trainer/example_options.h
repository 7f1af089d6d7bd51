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

/// What all examples have in common.
struct ExampleOptions {
  Layout layout = Layout::kEasydel;
  std::optional<bool> fixed_shapes;
  std::optional<std::vector<std::string>> keep_columns;
  bool parse_arguments = false;

  bool is_trl() const { return layout == Layout::kTrl; }
  bool has_fixed_shapes() const { return fixed_shapes.value_or(!is_trl()); }

  static config::FieldList Fields();
};

struct SftOptions {
  static constexpr const char* kName = "SftOptions";
  static constexpr const char* kDoc = "The options of examples for supervised fine-tuning.";

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

  static config::FieldList Fields();
  Status Validate() const;
};

/// What examples with answers to a prompt have in common.
struct AnswerOptions {
  std::optional<int64_t> max_prompt_length;
  std::optional<int64_t> max_completion_length;
  bool add_special_tokens = false;
  int32_t label_pad_token_id = -100;
  std::optional<int64_t> max_length;

  static config::FieldList Fields();
};

struct PreferenceOptions {
  static constexpr const char* kName = "PreferenceOptions";
  static constexpr const char* kDoc =
      "The options of examples with a chosen and a rejected answer.";

  ExampleOptions example;
  AnswerOptions answer;
  TruncationMode truncation_mode = TruncationMode::kKeepStart;

  static config::FieldList Fields();
  Status Validate() const;
};

struct UnpairedOptions {
  static constexpr const char* kName = "UnpairedOptions";
  static constexpr const char* kDoc = "The options of examples with one answer, good or bad.";

  ExampleOptions example;
  AnswerOptions answer;

  static config::FieldList Fields();
  Status Validate() const;
};

struct PromptOptions {
  static constexpr const char* kName = "PromptOptions";
  static constexpr const char* kDoc =
      "The options of prompts, which a trainer has answered itself.";

  ExampleOptions example;
  std::optional<int64_t> max_prompt_length;
  bool skip_apply_chat_template = false;

  static config::FieldList Fields();
  Status Validate() const;
};

struct RewardOptions {
  static constexpr const char* kName = "RewardOptions";
  static constexpr const char* kDoc = "The options of answer pairs for reward models.";

  ExampleOptions example;
  std::optional<int64_t> max_length;
  bool truncation = true;

  static config::FieldList Fields();
  Status Validate() const;
};

struct EmbeddingOptions {
  static constexpr const char* kName = "EmbeddingOptions";
  static constexpr const char* kDoc = "The options of examples for embedding models.";

  ExampleOptions example;
  int64_t max_length = 512;
  std::string query_field = "query";
  std::string positive_field = "positive";
  std::optional<std::string> negative_field;

  static config::FieldList Fields();
  Status Validate() const;
};

}  // namespace easydata::trainer
