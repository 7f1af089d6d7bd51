#pragma once

#include <optional>
#include <string_view>

#include "easydata/tokenizer/pretokenize/split_scanner.h"

namespace easydata {

/// The scanner for a regex, if there is one: its pretokens are the regex's matches, which cover the
/// whole text.
std::optional<SplitPattern> FindSplitPattern(std::string_view regex);

}  // namespace easydata
