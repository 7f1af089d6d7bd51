#pragma once

#include <vector>

#include "tokenizers/regex/regex_node.h"

/// Characters in a row under (?i), some of which may match as one: "ss" matches \u00DF as well.
namespace easydata::tokenizers {

/// Makes one node of such characters among the parts of a sequence, which matches both.
void JoinFolds(std::vector<RegexNode>* parts);

/// Whether a pattern has more of them, which JoinFolds has not seen side by side.
bool HasOpenFolds(const RegexNode& root);

}  // namespace easydata::tokenizers
