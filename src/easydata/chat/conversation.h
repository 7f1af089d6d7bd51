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

/// Makes the messages that a template sees of what a row holds, as
/// easydata/transforms/conversation.py does: JSON strings decoded, names of from/value messages
/// become roles, lists of text parts are joined, keys without a value go, and what a model thought
/// is under all of its usual names.
///
/// NotImplemented for a row that is not as it should be: Python says what is wrong with it.
Result<jinja::Value> ReadConversation(const jinja::Value& value, const RoleMapping& roles,
                                      ValueReader* reader, jinja::Arena* arena);

/// The fields of a message that are said; the others (its role, ...) are about it.
inline constexpr std::string_view kSaidFields[] = {"content", "reasoning_content", "thinking",
                                                   "reasoning", "tool_calls"};

/// Whether a text shows what was said: of the assistant's messages (of all, where none of the
/// assistant's has text) one at least has text in it, by the marks of
/// a rendering whose messages were marked by kSaidFields.
bool ShowsWhatWasSaid(const jinja::Value& messages, const std::vector<jinja::Mark>& marks,
                      const RoleMapping& roles);

}  // namespace easydata::chat
