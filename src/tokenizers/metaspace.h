#pragma once

#include <string_view>

namespace easydata::tokenizers {

/// "▁", SentencePiece's character for a space.
inline constexpr char32_t kMetaspace = 0x2581;
inline constexpr std::string_view kMetaspaceUtf8 = "\xE2\x96\x81";

}  // namespace easydata::tokenizers
