#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "easydata/base/status.h"
#include "easydata/chat/chat_renderer.h"
#include "easydata/jinja/value.h"

namespace easydata::chat {

/// What a chat template does with what chats may write in several ways.
enum class Habit : char {
  kWantsDeveloperAsSystem = 'd',  // prints a system message, and none of role developer
  kWantsParsedArguments = 'a',    // prints arguments of calls that are JSON text as text in text
  kShowsReasoning = 'r',          // of the last message
  kShowsReasoningOfCalls = 'c',   // of a last message that calls tools
  kShowsThoughts = 't',  // that stand in the content of the last message, <think>...</think>
  kShowsTools = 'f',
};

/// Finds what a template does by rendering short chats, each once. What it does depends on the
/// template and its options, and on no row. Thread-safe.
class TemplateHabits {
 public:
  explicit TemplateHabits(std::shared_ptr<const ChatRenderer> renderer)
      : renderer_(std::move(renderer)) {}

  /// Whether it has a habit, where it renders chats with these tools and options. Fails where
  /// rendering is cancelled or there is no memory for it, and else never.
  Result<bool> Has(Habit habit, const jinja::Value& tools, const jinja::Value& options) const;

 private:
  Result<bool> Find(Habit habit, bool has_tools, const jinja::Value& options) const;

  const std::shared_ptr<const ChatRenderer> renderer_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, bool> known_;
};

/// The habits of a template in one row's chats.
struct HabitsOfRow {
  const TemplateHabits* habits = nullptr;  // null: none is known
  jinja::Value tools = jinja::Value::None();
  jinja::Value options = jinja::Value::None();

  Result<bool> Has(Habit habit) const {
    return habits == nullptr ? Result<bool>(false) : habits->Has(habit, tools, options);
  }
};

}  // namespace easydata::chat
