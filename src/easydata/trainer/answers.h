#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/jinja/value.h"
#include "easydata/trainer/example_maker.h"

namespace easydata::trainer {

/// The texts of a prompt and of answers to it.
struct AnswerTexts {
  bool is_chat = false;
  /// Of a chat what its template makes of it, with what opens the answer.
  std::string prompt;
  /// The prompt and an answer, as one text.
  std::vector<std::string> whole;
};

/// The fields of a pair of answers, the better one first.
inline constexpr std::string_view kPreferenceFields[] = {"chosen", "rejected"};
/// Another that has the better one as a whole conversation, as LLaMA-Factory (v1) has it.
inline constexpr std::string_view kChosenFields[] = {kPreferenceFields[0], "chosen_messages"};
/// Others that have the worse answer, as ms-swift has it: by itself, or as a whole conversation.
inline constexpr std::string_view kRejectedMessages = "rejected_messages";
inline constexpr std::string_view kRejectedFields[] = {kPreferenceFields[1], kRejectedMessages,
                                                       "rejected_response"};
/// The field of an answer without another one.
inline constexpr std::string_view kCompletionField = "completion";
/// Fields of prompts that are one text, or messages.
inline constexpr std::string_view kPromptFields[] = {"prompt", "question"};

/// What a row asks and answers, wherever it has that: texts, or messages.
struct GivenAnswers {
  jinja::Value prompt = jinja::Value::None();
  std::string_view prompt_field = kPromptFields[0];
  std::vector<jinja::Value> answers = {};
  std::vector<std::string_view> fields = {};  // of the answers
};

/// Whether an answer of GivenAnswers is messages.
inline bool IsChat(const jinja::Value& answer) { return answer.Is(jinja::ValueKind::kList); }

/// Finds `chosen` and `rejected`. A conversation may have the chosen answer as its last message,
/// and one of kRejectedFields beside it. KeyError where a row has no pair.
Status FindPair(const ExampleDrafts::Row& row, GivenAnswers* given);

/// Refuses a pair of texts without a prompt, and with nothing at their beginnings that could be it,
/// whose row has text in other fields: IsPairWithoutPrompt tells the error.
Status CheckPrompt(const ExampleDrafts::Row& row, const GivenAnswers& given);

/// What answers a row has.
enum class AnswerKind { kPair, kCompletion };

/// Reads a prompt and the answers of a row: texts, or chats. A message alone is a chat.
///
/// The prompt is in one of kPromptFields; else it is an instruction (chat::InstructionOf), or the
/// conversation of a row whose answers do not begin one themselves; else what the two answers have
/// in common: messages, or characters. A prompt that is text goes before chats as the user's
/// message, unless they begin with messages of their own, which then have the prompt. A system
/// message beside them makes texts a chat.
///
/// Errors as FindPair, CheckPrompt, CheckPair.
Status ReadAnswers(const ExampleDrafts::Row& row, AnswerKind kind, AnswerTexts* out);

bool IsPairWithoutPrompt(const Status& status);

/// The prompt of a row in one of kPromptFields, or its instruction as messages; none where there is
/// none. `*field` is where.
Status FindTextPrompt(const ExampleDrafts::Row& row, jinja::Value* prompt, std::string_view* field);

/// Fields of answers and of what is asked, beyond `prompt`, `chosen`, `rejected`, `completion`.
std::vector<std::string> OtherAnswerFields();

/// Refuses answers of which nothing can be learned: Invalid where the two are the same, and
/// chat::EmptyAnswer where one is text that says nothing.
Status CheckPair(const jinja::Value& chosen, const jinja::Value& rejected);

/// chat::EmptyAnswer where a field's text says nothing.
Status CheckAnswer(const jinja::Value& answer, std::string_view field);

/// The beginning that texts have in common, without half characters.
std::string_view SharedPrefix(std::string_view a, std::string_view b);

}  // namespace easydata::trainer
