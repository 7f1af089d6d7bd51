#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "easydata/trainer/example_context.h"

namespace easydata::trainer {

/// The text that is encoded of one that is to end in EOS: without the EOS that it spells at its end
/// behind its first `begun` bytes. Whether that would be read as the token depends on the
/// tokenizer, and on what is before it.
std::string_view WithoutEos(std::string_view text, const TokenRoles& tokens, size_t begun = 0);

/// Ends the ids of such a text in the EOS token, before the special tokens `after` that its encoder
/// has put behind it; an encoder that puts EOS there itself has done so.
void EndInEos(const TokenRoles& tokens, std::span<const int32_t> after, std::vector<int32_t>* ids);

}  // namespace easydata::trainer
