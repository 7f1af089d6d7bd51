#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/column_values.h"
#include "easydata/jinja/template.h"
#include "easydata/jinja/value.h"

namespace easydata::chat {

/// Roles by the names that from/value messages may have.
using RoleMapping = std::map<std::string, std::string, std::less<>>;

struct ConversationOptions {
  /// The field that holds it, for errors.
  std::string_view field = "messages";
  /// Null: from/value messages are no messages.
  const RoleMapping* roles = nullptr;
  /// Arguments of tool calls that are JSON text become what they say.
  bool parse_arguments = false;
  /// What a model thought is put under all of its names, as TemplateMessages does.
  bool name_thoughts = true;
};

/// Makes messages with a role of what a row holds: JSON strings decoded, names of from/value
/// messages become roles, lists of text parts are joined, and keys without a value go. Values that
/// it has nothing to do with stay, of whatever kind.
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
inline constexpr std::string_view kSaidFields[] = {"content", "reasoning_content", "thinking",
                                                   "reasoning", "tool_calls"};

/// Whether a text shows what was said: of the assistant's messages (of all, where none of the
/// assistant's has text) one at least has text in it, by the marks of
/// a rendering whose messages were marked by kSaidFields.
bool ShowsWhatWasSaid(const jinja::Value& messages, const std::vector<jinja::Mark>& marks,
                      const RoleMapping& roles);

/// Whether a message is the assistant's, by its role or another name of it.
bool IsAssistant(const jinja::Value& message, const RoleMapping& roles);

/// The roles of messages, sorted, for errors: "assistant, user".
std::string RolesOf(const jinja::Value& messages);

}  // namespace easydata::chat
