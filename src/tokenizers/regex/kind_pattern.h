#pragma once

#include <string>

#include "tokenizers/regex/character_kinds.h"
#include "tokenizers/regex/regex_node.h"

namespace easydata::tokenizers {

/// The pattern for PCRE2, with neither UTF nor Unicode properties, that matches the kinds of
/// characters, one byte each, as `node` matches the characters.
std::string PatternOverKinds(const RegexNode& node, const CharacterKinds& kinds);

}  // namespace easydata::tokenizers
