#pragma once

#include <string_view>

#include "easydata/base/status.h"
#include "easydata/jinja/ast.h"

namespace easydata::jinja {

/// Parses a template by Jinja2 3.1's grammar, with the tags `generation`, `break` and `continue`.
///
/// Invalid where Jinja2 refuses the text, NotImplemented where it takes what we do not: other tags
/// (include, extends, call, filter, with ...), recursive loops, `*` arguments.
Result<Block> Parse(std::string_view source);

}  // namespace easydata::jinja
