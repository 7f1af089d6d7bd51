#pragma once

#include <simdjson.h>

#include <optional>
#include <string_view>
#include <vector>

#include "tokenizers/pretokenize/split_scanner.h"

namespace easydata::tokenizers {

/// Finds the scanner for a regex, if there is one: its pretokens are the regex's matches, which
/// cover the whole text. Equivalent spellings give the same scanner.
std::optional<SplitPattern> FindSplitPattern(std::string_view regex);

/// The regexes that a pattern stands for, each cutting what the one before it leaves: three for
/// kDeepSeekV3, else one (kDigitsGpt2: what comes after Digits).
std::vector<std::string_view> RegexesOf(SplitPattern pattern);

/// The regexes that are known to give a pattern's matches.
std::vector<std::string_view> SpellingsOf(SplitPattern pattern);

/// Components of a pre_tokenizer that one scanner does.
struct KnownSteps {
  SplitPattern pattern;
  /// How many components.
  size_t count;
  /// The component after them is a ByteLevel whose regex is done, too.
  bool includes_regex;
};

/// The scanner for the components from `first` on, if there is one.
std::optional<KnownSteps> FindKnownSteps(const std::vector<simdjson::dom::object>& components,
                                         size_t first);

}  // namespace easydata::tokenizers
