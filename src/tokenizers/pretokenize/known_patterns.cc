#include "tokenizers/pretokenize/known_patterns.h"

#include <array>
#include <memory>
#include <mutex>

#include "tokenizers/component_json.h"
#include "tokenizers/regex/regex_parser.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::object;

struct KnownPattern {
  SplitPattern pattern;
  std::string_view regex;
};

// The first of a pattern is its usual spelling; those after it give the same matches.
constexpr KnownPattern kKnownPatterns[] = {
    {SplitPattern::kGpt2,
     R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {SplitPattern::kLlama3,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::kQwen2,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::kQwen35,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::kO200k,
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::kTekken,
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    // Of GPT-4 and Phi-4: \s* takes all line breaks but the last.
    {SplitPattern::kLlama3,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"},
    {SplitPattern::kLlama3,
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"},
    {SplitPattern::kLlama3,
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"},
};

constexpr std::string_view kDeepSeekV3Regexes[] = {
    R"(\p{N}{1,3})",
    R"([一-龥぀-ゟ゠-ヿ]+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

// A regex as it is spelled and, once it is asked for, as it is parsed.
class ReadRegex {
 public:
  explicit ReadRegex(std::string_view text) : text_(text) {}

  bool operator==(const ReadRegex& other) const {
    if (text_ == other.text_) return true;
    const RegexNode* const node = Read();
    const RegexNode* const other_node = other.Read();
    return node != nullptr && other_node != nullptr && *node == *other_node;
  }

 private:
  const RegexNode* Read() const {
    std::call_once(once_, [this] {
      if (auto node = ParseRegex(text_); node.ok()) node_ = *std::move(node);
    });
    return node_ ? &*node_ : nullptr;
  }

  std::string_view text_;
  mutable std::once_flag once_;
  mutable std::optional<RegexNode> node_;
};

const ReadRegex& KnownRegex(size_t i) {
  static const auto regexes = [] {
    std::array<std::unique_ptr<ReadRegex>, std::size(kKnownPatterns)> all;
    for (size_t k = 0; k < all.size(); ++k) {
      all[k] = std::make_unique<ReadRegex>(kKnownPatterns[k].regex);
    }
    return all;
  }();
  return *regexes[i];
}

// The regex of a Split component that makes words of its matches.
std::optional<std::string_view> IsolatedRegexOf(object component) {
  if (TypeOf(component) != "Split") return std::nullopt;
  const auto behavior = StringAt(component, "behavior", "Split");
  const auto invert = BoolAt(component, "invert", "Split");
  const auto pattern = ObjectAt(component, "pattern", "Split");
  if (!behavior.ok() || *behavior != "Isolated" || !invert.ok() || *invert || !pattern.ok() ||
      pattern->size() != 1) {
    return std::nullopt;
  }
  const auto regex = StringAt(*pattern, "Regex", "Split");
  return regex.ok() ? std::optional(*regex) : std::nullopt;
}

bool IsIndividualDigits(object component) {
  const auto individual = BoolAt(component, "individual_digits", "Digits");
  return TypeOf(component) == "Digits" && individual.ok() && *individual;
}

bool IsPlainByteLevelWithRegex(object component) {
  const auto add_prefix_space = BoolAt(component, "add_prefix_space", "ByteLevel");
  const auto use_regex = BoolOr(component, "use_regex", true, "ByteLevel");
  return TypeOf(component) == "ByteLevel" && add_prefix_space.ok() && !*add_prefix_space &&
         use_regex.ok() && *use_regex;
}

}  // namespace

std::optional<SplitPattern> FindSplitPattern(std::string_view regex) {
  for (const KnownPattern& known : kKnownPatterns) {
    if (regex == known.regex) return known.pattern;
  }
  const ReadRegex read(regex);
  for (size_t i = 0; i < std::size(kKnownPatterns); ++i) {
    if (read == KnownRegex(i)) return kKnownPatterns[i].pattern;
  }
  return std::nullopt;
}

std::vector<std::string_view> RegexesOf(SplitPattern pattern) {
  if (pattern == SplitPattern::kDeepSeekV3) {
    return {std::begin(kDeepSeekV3Regexes), std::end(kDeepSeekV3Regexes)};
  }
  for (const KnownPattern& known : kKnownPatterns) {
    if (known.pattern == pattern) return {known.regex};
  }
  return RegexesOf(SplitPattern::kGpt2);
}

std::vector<std::string_view> SpellingsOf(SplitPattern pattern) {
  std::vector<std::string_view> spellings;
  for (const KnownPattern& known : kKnownPatterns) {
    if (known.pattern == pattern) spellings.push_back(known.regex);
  }
  return spellings;
}

std::optional<KnownSteps> FindKnownSteps(const std::vector<object>& components, size_t first) {
  const size_t left = components.size() - first;
  if (left >= 2 && IsIndividualDigits(components[first]) &&
      IsPlainByteLevelWithRegex(components[first + 1])) {
    return KnownSteps{SplitPattern::kDigitsGpt2, 1, true};
  }
  constexpr size_t kDeepSeekSteps = std::size(kDeepSeekV3Regexes);
  size_t same = 0;
  while (same < kDeepSeekSteps && same < left) {
    const auto regex = IsolatedRegexOf(components[first + same]);
    if (!regex || !(ReadRegex(*regex) == ReadRegex(kDeepSeekV3Regexes[same]))) break;
    ++same;
  }
  if (same == kDeepSeekSteps) return KnownSteps{SplitPattern::kDeepSeekV3, same, false};
  const auto regex = IsolatedRegexOf(components[first]);
  const auto pattern = regex ? FindSplitPattern(*regex) : std::nullopt;
  return pattern ? std::optional(KnownSteps{*pattern, 1, false}) : std::nullopt;
}

}  // namespace easydata::tokenizers
