#pragma once

#include <cstddef>
#include <cstdint>

namespace easydata {

/// Patterns that cut text into pretokens, as the tokenizer.json files spell them:
/// kGpt2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// kLlama3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
/// ?[^\s\p{L}\p{N}]+[\r\n]*|
///          \s*[\r\n]+|\s+(?!\S)|\s+
/// kQwen2   kLlama3 with \p{N} for \p{N}{1,3}
enum class SplitPattern : uint8_t { kGpt2, kLlama3, kQwen2 };

inline constexpr int kNumSplitPatterns = 3;

/// Cuts text[*position, size) into pretokens until `capacity` are found or the text ends.
///
/// `text` is valid UTF-8 of less than 4 GiB and *position is where a pretoken starts. Writes where
/// each pretoken ends to `ends` (it starts where the one before it ended), moves *position to the
/// end of the last one and returns their number. Every byte of the text falls into one pretoken.
using SplitFunction = size_t (*)(const char* text, size_t size, size_t* position, uint32_t* ends,
                                 size_t capacity);

/// The scanner that looks at one character at a time and runs on every machine.
SplitFunction ScalarSplitFunction(SplitPattern pattern);

}  // namespace easydata
