#pragma once

#include <string>
#include <string_view>

namespace easydata::tokenizers {

/// Makes `bytes` valid UTF-8: each maximal ill-formed part becomes one U+FFFD (Unicode Standard,
/// section 3.9, "substitution of maximal subparts").
std::string LossyUtf8(std::string_view bytes);

/// The offset of the first byte that is not part of valid UTF-8, or bytes.size().
size_t FirstInvalidUtf8(std::string_view bytes);

}  // namespace easydata::tokenizers
