#pragma once

#include <cstdint>
#include <memory>

#include "tokenizers/pretokenize/pre_tokenizer.h"

namespace easydata::tokenizers {

/// When Metaspace puts its replacement before a word that does not start with it.
enum class PrependScheme : uint8_t { kNever, kFirst, kAlways };

/// Metaspace: writes `replacement` for every space, prepends it, and cuts before each if `split`.
std::unique_ptr<const PreTokenizer> MakeMetaspace(char32_t replacement, PrependScheme scheme,
                                                  bool split);

/// WhitespaceSplit and then Metaspace that always prepends, in one pass.
std::unique_ptr<const PreTokenizer> MakeMetaspaceWords(char32_t replacement, bool split);

}  // namespace easydata::tokenizers
