#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/chat/conversation.h"
#include "easydata/chat/template_habits.h"
#include "operators/python_error.h"

namespace easydata {

using PythonMessage = nb::typed<nb::dict, nb::str, nb::any>;
/// Makes what it holds of JSON text.
using Decoding = nb::typed<nb::callable, nb::any(nb::any)>;

/// The messages that a Python value holds (chat::ReadConversation), as a new list of dicts. What it
/// leaves as it is stays the very same object, of whatever type. `roles`: None where from/value
/// messages are no messages. `decoded` makes what it holds of JSON text, and other values
/// themselves. ValueError and TypeError as ReadConversation; needs the GIL.
nb::typed<nb::list, PythonMessage> ReadPythonMessages(nb::handle value, std::string_view field,
                                                      const std::optional<chat::RoleMapping>& roles,
                                                      Decoding decoded);

/// How conversations of Python's are rendered.
struct ConversationRendering {
  chat::RoleMapping roles;
  /// Null: from/value messages are no messages.
  bool has_roles = true;
  std::vector<std::string> own_roles;
  std::shared_ptr<const chat::TemplateHabits> habits;
  bool drops_reasoning = false;
};

/// The text of the conversation that a row, a mapping of Python's, has in `field` (empty: of its
/// instruction and answer), as ReadPythonMessages reads it, with the system message and options
/// that the row has beside it (chat/row_conversation.h), rendered by render(messages, tools,
/// options, False, True). ValueError where something of it does not come out (chat::CheckClaimed),
/// or of what `render` raises. `*strange` is a role that nobody has told us of, or empty. Needs the
/// GIL.
nb::str RenderPythonConversation(const ConversationRendering& how, const nb::object& render,
                                 nb::handle row, std::string_view field, nb::handle tools,
                                 Decoding decoded, std::string* strange);

/// Python messages as templates see them (chat::TemplateMessages), as a new list of dicts; their
/// values stay the very same objects. TypeError as TemplateMessages; needs the GIL.
nb::typed<nb::list, PythonMessage> PythonTemplateMessages(
    nb::typed<nb::handle, nb::typed<nb::list, nb::any>> messages);

}  // namespace easydata
