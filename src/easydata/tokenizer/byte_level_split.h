#pragma once

#include <simdjson.h>

#include <optional>

#include "easydata/tokenizer/pretokenize/split_scanner.h"

namespace easydata {

/// A pre_tokenizer that comes to one of the scanners' patterns, followed by the byte-level mapping.
struct ByteLevelSplit {
  SplitPattern pattern;
  bool add_prefix_space;
};

/// Recognizes such a pre_tokenizer; nothing for any other.
std::optional<ByteLevelSplit> FindByteLevelSplit(simdjson::dom::element pre_tokenizer);

}  // namespace easydata
