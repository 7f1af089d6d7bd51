#include "easydata/chat/template_habits.h"

#include <utility>

#include "easydata/chat/column_values.h"
#include "easydata/jinja/python_text.h"

namespace easydata::chat {
namespace {

using jinja::Value;
using jinja::ValueKind;

// Habits that are kept, each with the options that it was found for.
constexpr size_t kMostKnown = 1024;
// No template has these words.
constexpr std::string_view kWord = "ovalquince";
constexpr std::string_view kToolWord = "quincewright";
constexpr std::string_view kEscapedKey = "\\\"ovalquince\\\"";

constexpr std::string_view kDeveloper = R"([{"role": "developer", "content": "ovalquince"},
  {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])";
constexpr std::string_view kSystem = R"([{"role": "system", "content": "ovalquince"},
  {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])";
constexpr std::string_view kParsed = R"([{"role": "user", "content": "a"},
  {"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function",
    "function": {"name": "f", "arguments": {"ovalquince": "c"}}}]},
  {"role": "tool", "name": "f", "tool_call_id": "call00001", "content": "d"},
  {"role": "assistant", "content": "e"}])";
constexpr std::string_view kUnparsed = R"([{"role": "user", "content": "a"},
  {"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function",
    "function": {"name": "f", "arguments": "{\"ovalquince\": \"c\"}"}}]},
  {"role": "tool", "name": "f", "tool_call_id": "call00001", "content": "d"},
  {"role": "assistant", "content": "e"}])";
constexpr std::string_view kReasoning = R"([{"role": "user", "content": "a"},
  {"role": "assistant", "content": "b", "reasoning_content": "ovalquince",
   "thinking": "ovalquince", "reasoning": "ovalquince"}])";
constexpr std::string_view kReasoningOfCalls = R"([{"role": "user", "content": "a"},
  {"role": "assistant", "content": "", "reasoning_content": "ovalquince",
   "thinking": "ovalquince", "reasoning": "ovalquince", "tool_calls": [{"id": "call00001",
     "type": "function", "function": {"name": "f", "arguments": {"b": "c"}}}]}])";
constexpr std::string_view kThoughts = R"([{"role": "user", "content": "a"},
  {"role": "assistant", "content": "<think>\novalquince\n</think>\n\nb"}])";
constexpr std::string_view kPlain = R"([{"role": "user", "content": "a"},
  {"role": "assistant", "content": "b"}])";
constexpr std::string_view kTools = R"([{"type": "function", "function": {"name": "f",
  "description": "quincewright", "parameters": {"type": "object", "properties": {
    "b": {"type": "string", "description": "b"}}}}}])";

/// What a short chat becomes; nothing where the template refuses it.
Result<std::string> Shown(const ChatRenderer& renderer, std::string_view messages, bool has_tools,
                          const Value& options) {
  jinja::Arena arena;
  ValueReader reader;
  ChatRequest request;
  ARROW_ASSIGN_OR_RAISE(request.messages, reader.ReadJson(messages, &arena));
  if (has_tools) {
    ARROW_ASSIGN_OR_RAISE(request.tools, reader.ReadJson(kTools, &arena));
  }
  request.options = options;
  RenderedChat rendered;
  const Status status = renderer.Render(request, &rendered);
  if (status.IsCancelled() || status.IsOutOfMemory()) return status;
  return status.ok() ? std::move(rendered.text) : std::string();
}

bool Has(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

Result<bool> TemplateHabits::Has(Habit habit, const Value& tools, const Value& options) const {
  const bool has_tools = !tools.Is(ValueKind::kNone);
  std::string key = {static_cast<char>(habit), has_tools ? 't' : '-'};
  if (options.Is(ValueKind::kDict)) jinja::AppendJson(options, {}, &key);
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
  }
  ARROW_ASSIGN_OR_RAISE(const bool found, Find(habit, has_tools, options));
  const std::lock_guard lock(mutex_);
  // Options may be another for each row.
  if (known_.size() >= kMostKnown) known_.clear();
  known_.emplace(std::move(key), found);
  return found;
}

Result<bool> TemplateHabits::Find(Habit habit, bool has_tools, const Value& options) const {
  const auto shown = [&](std::string_view messages) {
    return Shown(*renderer_, messages, has_tools, options);
  };
  switch (habit) {
    case Habit::kWantsDeveloperAsSystem: {
      ARROW_ASSIGN_OR_RAISE(const std::string as_it_is, shown(kDeveloper));
      if (chat::Has(as_it_is, kWord)) return false;
      ARROW_ASSIGN_OR_RAISE(const std::string as_system, shown(kSystem));
      return chat::Has(as_system, kWord);
    }
    case Habit::kWantsParsedArguments: {
      ARROW_ASSIGN_OR_RAISE(const std::string parsed, shown(kParsed));
      ARROW_ASSIGN_OR_RAISE(const std::string unparsed, shown(kUnparsed));
      const auto is_plain = [](const std::string& text) {
        return chat::Has(text, kWord) && !chat::Has(text, kEscapedKey);
      };
      return is_plain(parsed) && !is_plain(unparsed);
    }
    case Habit::kShowsReasoning: {
      ARROW_ASSIGN_OR_RAISE(const std::string text, shown(kReasoning));
      return chat::Has(text, kWord);
    }
    case Habit::kShowsReasoningOfCalls: {
      ARROW_ASSIGN_OR_RAISE(const std::string text, shown(kReasoningOfCalls));
      return chat::Has(text, kWord);
    }
    case Habit::kShowsThoughts: {
      ARROW_ASSIGN_OR_RAISE(const std::string text, shown(kThoughts));
      return chat::Has(text, kWord);
    }
    case Habit::kShowsTools: {
      ARROW_ASSIGN_OR_RAISE(const std::string text, Shown(*renderer_, kPlain, true, options));
      return chat::Has(text, kToolWord);
    }
  }
  return false;
}

}  // namespace easydata::chat
