#pragma once

#include <optional>
#include <string_view>

#include "operators/python_error.h"

namespace easydata {

/// The messages that a Python value holds (chat::ReadConversation), as a new list of dicts. What it
/// leaves as it is stays the very same object, of whatever type. `roles`: None where from/value
/// messages are no messages. `decoded` makes what it holds of JSON text, and other values
/// themselves. ValueError and TypeError as ReadConversation; needs the GIL.
nb::list ReadPythonMessages(nb::handle value, std::string_view field,
                            const std::optional<nb::dict>& roles, nb::callable decoded);

/// Python messages as templates see them (chat::TemplateMessages), as a new list of dicts; their
/// values stay the very same objects. TypeError as TemplateMessages; needs the GIL.
nb::list PythonTemplateMessages(nb::handle messages);

}  // namespace easydata
