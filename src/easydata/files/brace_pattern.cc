#include "easydata/files/brace_pattern.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace easydata::files {
namespace {

constexpr size_t kMostNames = 10'000'000;

std::optional<int64_t> NumberIn(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number =
      !text.empty() && error == std::errc() && end == text.data() + text.size() && value >= 0;
  return is_number ? std::optional<int64_t>(value) : std::nullopt;
}

/// What stands for `text`, which was in braces.
Result<std::vector<std::string>> BraceChoices(std::string_view text, const std::string& shown) {
  std::vector<std::string> choices;
  if (const size_t dots = text.find(".."); dots != std::string_view::npos) {
    const std::string_view first = text.substr(0, dots);
    const std::string_view last = text.substr(dots + 2);
    const auto from = NumberIn(first);
    const auto to = NumberIn(last);
    if (!from || !to || *to < *from) {
      return Status::Invalid(shown, ": {", text,
                             "} is no range of numbers; write {first..last}, as in {000..127}");
    }
    if (static_cast<uint64_t>(*to - *from) >= kMostNames) {
      return Status::Invalid(shown, ": {", text, "} is more than ten million names");
    }
    const bool is_padded =
        (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
    const size_t digits = is_padded ? std::max(first.size(), last.size()) : 0;
    for (int64_t number = *from; number <= *to; ++number) {
      std::string name = std::to_string(number);
      if (name.size() < digits) name.insert(0, digits - name.size(), '0');
      choices.push_back(std::move(name));
    }
    return choices;
  }
  for (size_t begin = 0;;) {
    const size_t comma = text.find(',', begin);
    choices.emplace_back(text.substr(begin, comma - begin));
    if (comma == std::string_view::npos) return choices;
    begin = comma + 1;
  }
}

}  // namespace

Result<std::vector<std::string>> ExpandBraces(const std::string& pattern,
                                              const std::string& shown) {
  std::vector<std::string> names = {""};
  size_t at = 0;
  while (at < pattern.size()) {
    const size_t open = pattern.find_first_of("{}", at);
    const size_t close = open == std::string::npos ? open : pattern.find_first_of("{}", open + 1);
    const std::string plain = pattern.substr(at, open - at);
    for (std::string& name : names) name += plain;
    if (open == std::string::npos) break;
    if (pattern[open] == '}' || close == std::string::npos || pattern[close] == '{') {
      return Status::Invalid(shown, ": each { needs its }, and none within another");
    }
    const std::string_view inside = std::string_view(pattern).substr(open + 1, close - open - 1);
    ARROW_ASSIGN_OR_RAISE(const auto choices, BraceChoices(inside, shown));
    if (names.size() * choices.size() > kMostNames) {
      return Status::Invalid(shown, " stands for more than ten million names");
    }
    std::vector<std::string> longer;
    longer.reserve(names.size() * choices.size());
    for (const std::string& name : names) {
      for (const std::string& choice : choices) longer.push_back(name + choice);
    }
    names = std::move(longer);
    at = close + 1;
  }
  return names;
}

}  // namespace easydata::files
