#pragma once

#include "easydata/jinja/template.h"

namespace easydata::chat {

/// Whether what `add_generation_prompt` adds to a text is the same for all conversations: it is
/// asked for outside of loops, macros and other conditions, and what is printed then depends on
/// options and special tokens alone. False where that cannot be seen.
bool HasPlainPrompt(const jinja::Template& compiled);

}  // namespace easydata::chat
