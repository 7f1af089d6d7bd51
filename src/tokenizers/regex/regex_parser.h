#pragma once

#include <string_view>

#include "easydata/base/status.h"
#include "tokenizers/regex/regex_node.h"

namespace easydata::tokenizers {

/// Reads a pattern (valid UTF-8) in Oniguruma's Ruby syntax as version 6.9.10 does. NotImplemented,
/// saying what and where, for everything whose meaning is not certain to be carried over: back
/// references, calls, absence operators, \X, \R, \K, \G, conditions, (?i) on what matches several
/// characters, repeats of what may be empty, and whatever the reference refuses.
Result<RegexNode> ParseRegex(std::string_view pattern);

}  // namespace easydata::tokenizers
