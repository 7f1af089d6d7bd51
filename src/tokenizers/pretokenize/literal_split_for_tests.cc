#include "tokenizers/pretokenize/literal_split_for_tests.h"

#include <functional>
#include <optional>

#include "tokenizers/unicode_properties.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

using Text = std::vector<char32_t>;
using Predicate = std::function<bool(char32_t)>;

bool IsLetter(char32_t c) { return UnicodeProperties::Get().char_class(c) == CharClass::kLetter; }
bool IsNumber(char32_t c) { return UnicodeProperties::Get().char_class(c) == CharClass::kNumber; }
bool IsSpace(char32_t c) { return UnicodeProperties::Get().char_class(c) == CharClass::kSpace; }
bool IsOther(char32_t c) { return !IsLetter(c) && !IsNumber(c) && !IsSpace(c); }
bool IsNewline(char32_t c) { return c == '\r' || c == '\n'; }

size_t Run(const Text& text, size_t i, const Predicate& predicate, size_t limit = SIZE_MAX) {
  size_t n = 0;
  while (n < limit && i + n < text.size() && predicate(text[i + n])) ++n;
  return n;
}

// Length of `literal` at i, or nothing.
std::optional<size_t> Literal(const Text& text, size_t i, std::string_view literal, bool fold) {
  for (size_t k = 0; k < literal.size(); ++k) {
    if (i + k >= text.size()) return std::nullopt;
    char32_t c = text[i + k];
    if (fold && c >= 'A' && c <= 'Z') c += 0x20;
    if (fold && c == 0x17F) c = 's';
    if (c != static_cast<char32_t>(literal[k])) return std::nullopt;
  }
  return literal.size();
}

// " ?X+" at i.
std::optional<size_t> SpaceThenRun(const Text& text, size_t i, const Predicate& predicate) {
  for (const size_t skip : {size_t{1}, size_t{0}}) {
    if (skip == 1 && (i >= text.size() || text[i] != ' ')) continue;
    if (const size_t n = Run(text, i + skip, predicate); n > 0) return skip + n;
  }
  return std::nullopt;
}

// "\s+(?!\S)" at i: the longest run of spaces that no other character follows.
std::optional<size_t> SpacesBeforeSpace(const Text& text, size_t i) {
  for (size_t n = Run(text, i, IsSpace); n > 0; --n) {
    if (i + n == text.size() || IsSpace(text[i + n])) return n;
  }
  return std::nullopt;
}

size_t MatchGpt2(const Text& text, size_t i) {
  for (const char* literal : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (const auto n = Literal(text, i, literal, false)) return *n;
  }
  for (const auto& predicate : {IsLetter, IsNumber, IsOther}) {
    if (const auto n = SpaceThenRun(text, i, predicate)) return *n;
  }
  if (const auto n = SpacesBeforeSpace(text, i)) return *n;
  return Run(text, i, IsSpace);
}

size_t MatchLlama3(const Text& text, size_t i, size_t max_digits) {
  for (const char* literal : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (const auto n = Literal(text, i, literal, true)) return *n;
  }
  const char32_t first = text[i];
  if (!IsNewline(first) && !IsLetter(first) && !IsNumber(first)) {
    if (const size_t n = Run(text, i + 1, IsLetter); n > 0) return 1 + n;
  }
  if (const size_t n = Run(text, i, IsLetter); n > 0) return n;
  if (const size_t n = Run(text, i, IsNumber, max_digits); n > 0) return n;
  if (const auto n = SpaceThenRun(text, i, IsOther)) return *n + Run(text, i + *n, IsNewline);
  // "\s*[\r\n]+": the longest run of spaces that a line break follows.
  for (size_t n = Run(text, i, IsSpace) + 1; n-- > 0;) {
    if (const size_t breaks = Run(text, i + n, IsNewline); breaks > 0) return n + breaks;
  }
  if (const auto n = SpacesBeforeSpace(text, i)) return *n;
  return Run(text, i, IsSpace);
}

}  // namespace

std::vector<uint32_t> LiteralSplit(SplitPattern pattern, std::string_view text) {
  Text characters;
  std::vector<uint32_t> offsets;
  for (size_t i = 0; i < text.size();) {
    const utf8::CodePoint c = utf8::Decode(text.data() + i);
    characters.push_back(c.value);
    offsets.push_back(static_cast<uint32_t>(i));
    i += c.length;
  }
  offsets.push_back(static_cast<uint32_t>(text.size()));
  std::vector<uint32_t> ends;
  for (size_t i = 0; i < characters.size();) {
    i += pattern == SplitPattern::kGpt2
             ? MatchGpt2(characters, i)
             : MatchLlama3(characters, i, pattern == SplitPattern::kLlama3 ? 3 : 1);
    ends.push_back(offsets[i]);
  }
  return ends;
}

}  // namespace easydata::tokenizers
