#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/column_values.h"
#include "easydata/chat/template_habits.h"
#include "easydata/jinja/template.h"
#include "easydata/jinja/value.h"

namespace easydata::chat {

/// Roles by the names that from/value messages may have.
using RoleMapping = std::map<std::string, std::string, std::less<>>;

struct ConversationOptions {
  /// The field that holds it, for errors.
  std::string_view field = "messages";
  /// Null: from/value messages are no messages, and roles stay as they are.
  const RoleMapping* roles = nullptr;
  /// Whether arguments of tool calls that are JSON text become what they say. Unset: where the
  /// template wants that.
  std::optional<bool> parse_arguments = {};
  /// What the template is known for.
  const HabitsOfRow* habits = nullptr;
  /// Names of roles that the template itself has, which stay: sorted.
  const std::vector<std::string>* own_roles = nullptr;
  /// What a model thought is put under all of its names, as TemplateMessages does.
  bool name_thoughts = true;
};

/// Makes messages with a role of what a row holds: JSON strings decoded, names of speakers become
/// roles (of from/value messages all, of others those that are no roles: human, gpt, User), lists
/// of text parts are joined, keys without a value go. Calls that are messages (function_call)
/// become tool_calls of the assistant; those that follow each other are one message. Values that it
/// has nothing to do with stay, of whatever kind.
///
/// Invalid or TypeError, naming the message and what was expected, for a row that is not as it
/// should be; NotImplemented for texts that `reader` cannot read.
Result<jinja::Value> ReadConversation(const jinja::Value& value, const ConversationOptions& options,
                                      ValueReader* reader, jinja::Arena* arena);

/// What a model thought, under the names that templates read it by; the first is the standard one.
inline constexpr std::string_view kReasoningFields[] = {"reasoning_content", "thinking",
                                                        "reasoning"};

/// A list of messages as templates see them, as in transformers: keys without a value go, and what
/// a model thought is under all of its names. TypeError for what is no list of dicts.
Result<jinja::Value> TemplateMessages(const jinja::Value& messages, jinja::Arena* arena);

/// What a value holds if it is a conversation, or JSON text of one: a list whose first item has a
/// role. None otherwise.
jinja::Value AsMessages(const jinja::Value& value, ValueReader* reader, jinja::Arena* arena);

/// The tools that a row describes: a list of JSON schemas or its JSON text; none where there are
/// none. Invalid for anything else.
Result<jinja::Value> ReadTools(const jinja::Value& value, ValueReader* reader, jinja::Arena* arena);

/// The fields of a message that are said; the others (its role, ...) are about it.
inline constexpr jinja::SourceField kSaidFields[] = {
    {"content", jinja::Value::kContent},
    {"reasoning_content", jinja::Value::kReasoning},
    {"thinking", jinja::Value::kReasoning},
    {"reasoning", jinja::Value::kReasoning},
    {"tool_calls", jinja::Value::kCalls}};

/// What a message says, as bits of Value::kSources.
uint8_t SaidOf(const jinja::Value& message);

/// Whether there is text in a value, but for white space.
bool HasText(const jinja::Value& value);

/// Whether a message is the assistant's, by its role or another name of it.
bool IsAssistant(const jinja::Value& message, const RoleMapping& roles);

/// Whether a role is one that chats have in the standard form, or `roles` maps from or to it.
bool IsKnownRole(std::string_view role, const RoleMapping& roles);

}  // namespace easydata::chat
