#pragma once

#include <cstdint>
#include <memory>

#include "tokenizers/pretokenize/pre_tokenizer.h"

namespace easydata::tokenizers {

/// ByteLevel: puts a space before words that do not start with one, cuts them by GPT-2's pattern,
/// and spells their bytes with the characters of ByteAlphabet; each if asked to. nullptr when
/// nothing is asked.
std::unique_ptr<const PreTokenizer> MakeByteLevel(bool add_prefix_space, bool use_regex,
                                                  bool map_bytes);

}  // namespace easydata::tokenizers
