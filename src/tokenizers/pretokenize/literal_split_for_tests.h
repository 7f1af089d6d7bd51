#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizers/pretokenize/split_scanner.h"

namespace easydata::tokenizers {

/// The reference implementation of the scanners for GPT-2's, Llama 3's and Qwen 2's pattern, for
/// tests only: tries alternative by alternative, with backtracking. Returns the ends of the
/// pretokens of valid UTF-8 text.
std::vector<uint32_t> LiteralSplit(SplitPattern pattern, std::string_view text);

}  // namespace easydata::tokenizers
