#pragma once

#include <string>
#include <string_view>

#include "easydata/jinja/template.h"

namespace easydata::chat {

/// Says what a mark is of, as renderers outside of the engine do: "message", "generation" or
/// "text".
///
/// With `fields`, a text is told by the fields of its message that it is made of:
/// "content+tool_calls", one of several calls "tool_calls[1]", and "other" for none of kSaidFields.
std::string MarkText(const jinja::Mark& mark, bool fields);

/// Reads what MarkText() says into a mark. Another text is one of "other"; a number that is none is
/// left out.
void ReadMarkText(std::string_view text, jinja::Mark* mark);

}  // namespace easydata::chat
