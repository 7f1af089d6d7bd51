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

/// Reads a prompt and the answers in `fields` (kPreferenceFields) of a row: texts, or chats.
///
/// Where there is no prompt, it is what the two answers have in common: messages, or characters. A
/// prompt that is text goes before chats as the user's message, unless they begin with messages of
/// their own, which then have the prompt.
Status ReadAnswers(const ExampleDrafts::Row& row, std::span<const std::string_view> fields,
                   AnswerTexts* out);

/// Refuses answers of which nothing can be learned: Invalid where the two are the same, and
/// chat::EmptyAnswer where one is text that says nothing.
Status CheckPair(const jinja::Value& chosen, const jinja::Value& rejected);

/// chat::EmptyAnswer where a field's text says nothing.
Status CheckAnswer(const jinja::Value& answer, std::string_view field);

/// The beginning that texts have in common, without half characters.
std::string_view SharedPrefix(std::string_view a, std::string_view b);

}  // namespace easydata::trainer
