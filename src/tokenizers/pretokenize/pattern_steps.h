#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "easydata/base/status.h"
#include "tokenizers/pretokenize/pre_tokenizer.h"
#include "tokenizers/pretokenize/split_scanner.h"
#include "tokenizers/pretokenize/word_cutter.h"

namespace easydata::tokenizers {

/// Cuts at the occurrences of `literal`, which is not empty.
std::unique_ptr<const PreTokenizer> MakeLiteralSplit(std::string_view literal,
                                                     SplitBehavior behavior, bool invert);

/// Cuts at the matches of a regex in Oniguruma's syntax.
Result<std::unique_ptr<const PreTokenizer>> MakeRegexSplit(std::string_view regex,
                                                           SplitBehavior behavior, bool invert);

/// Cuts with one of the scanners.
std::unique_ptr<const PreTokenizer> MakeScannerSplit(SplitPattern pattern);

}  // namespace easydata::tokenizers
