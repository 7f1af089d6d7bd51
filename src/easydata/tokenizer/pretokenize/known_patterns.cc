#include "easydata/tokenizer/pretokenize/known_patterns.h"

namespace easydata {
namespace {

struct KnownPattern {
  const char* regex;
  SplitPattern pattern;
};

constexpr KnownPattern kKnownPatterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     SplitPattern::kGpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     SplitPattern::kLlama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     SplitPattern::kQwen2},
};

}  // namespace

std::optional<SplitPattern> FindSplitPattern(std::string_view regex) {
  for (const KnownPattern& known : kKnownPatterns) {
    if (regex == known.regex) return known.pattern;
  }
  return std::nullopt;
}

}  // namespace easydata
