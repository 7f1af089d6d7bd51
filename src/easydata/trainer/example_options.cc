#include "easydata/trainer/example_options.h"

#include "easydata/config/descriptor.h"

namespace easydata::trainer {
namespace {

constexpr NamedValue<Layout> kLayouts[] = {{"easydel", Layout::kEasydel}, {"trl", Layout::kTrl}};
constexpr NamedValue<TrainOn> kTrainedTurns[] = {{"all", TrainOn::kAll}, {"last", TrainOn::kLast}};
constexpr NamedValue<Reasoning> kReasonings[] = {{"error", Reasoning::kError},
                                                 {"drop", Reasoning::kDrop}};
constexpr NamedValue<EmptyAnswers> kEmptyAnswers[] = {{"error", EmptyAnswers::kError},
                                                      {"skip", EmptyAnswers::kSkip}};
constexpr NamedValue<TruncationMode> kModes[] = {{"keep_start", TruncationMode::kKeepStart},
                                                 {"keep_end", TruncationMode::kKeepEnd}};

/// TRL pads in its collators.
Status CheckShapes(const ExampleOptions& options) {
  if (!options.is_trl() || !options.has_fixed_shapes()) return Status::OK();
  return Status::Invalid("fixed_shapes=True is for layout=\"easydel\": TRL's collators pad");
}

/// An option of one layout that is set in the other, where `instead` says the same; may be null.
Status OnlyIn(const ExampleOptions& options, Layout layout, const char* name, bool is_set,
              const char* instead) {
  if (!is_set || options.layout == layout) return Status::OK();
  return Status::Invalid(name, " is for layout=\"", NameOf(kLayouts, layout),
                         "\"; the layout is \"", NameOf(kLayouts, options.layout), "\"",
                         instead == nullptr ? "" : ", which has ",
                         instead == nullptr ? "" : instead);
}

template <typename O>
Status CheckAnswers(const O& options) {
  ARROW_RETURN_NOT_OK(config::CheckOptions(options));
  ARROW_RETURN_NOT_OK(CheckShapes(options.example));
  ARROW_RETURN_NOT_OK(OnlyIn(options.example, Layout::kEasydel, "max_prompt_length",
                             options.answer.max_prompt_length.has_value(), "max_length"));
  ARROW_RETURN_NOT_OK(OnlyIn(options.example, Layout::kEasydel, "max_completion_length",
                             options.answer.max_completion_length.has_value(), "max_length"));
  ARROW_RETURN_NOT_OK(OnlyIn(options.example, Layout::kEasydel, "add_special_tokens",
                             options.answer.add_special_tokens, nullptr));
  return OnlyIn(options.example, Layout::kTrl, "max_length", options.answer.max_length.has_value(),
                "max_prompt_length and max_completion_length");
}

}  // namespace

std::span<const NamedValue<Layout>> NamesOf(Layout) { return kLayouts; }
std::span<const NamedValue<Reasoning>> NamesOf(Reasoning) { return kReasonings; }
std::span<const NamedValue<EmptyAnswers>> NamesOf(EmptyAnswers) { return kEmptyAnswers; }
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
