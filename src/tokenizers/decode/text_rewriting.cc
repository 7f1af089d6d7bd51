#include "tokenizers/decode/text_rewriting.h"

#include <utility>

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

namespace {

// Whether a space stands before a character that stands there in one of CleanUpEnglish's patterns.
bool HasPatternStart(std::string_view text) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == ' ' && std::string_view(".?!,'nd").find(text[i + 1]) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string ReplaceAll(std::string_view text, std::string_view pattern,
                       std::string_view replacement) {
  std::string out;
  out.reserve(text.size());
  if (pattern.empty()) {
    for (const char c : text) {
      if (!utf8::IsContinuation(c)) out.append(replacement);
      out.push_back(c);
    }
    return out.append(replacement);
  }
  for (size_t begin = 0;;) {
    const size_t found = text.find(pattern, begin);
    if (found == std::string_view::npos) return out.append(text.substr(begin));
    out.append(text.substr(begin, found - begin)).append(replacement);
    begin = found + pattern.size();
  }
}

std::string CleanUpEnglish(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  std::string clean(text);
  if (!HasPatternStart(text)) return clean;
  for (const auto& [pattern, replacement] : kReplacements) {
    if (clean.find(pattern) == std::string::npos) continue;
    clean = ReplaceAll(clean, pattern, replacement);
  }
  return clean;
}

}  // namespace easydata::tokenizers
