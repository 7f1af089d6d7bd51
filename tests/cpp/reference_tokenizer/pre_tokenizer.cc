#include "reference_tokenizer/pre_tokenizer.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "reference_tokenizer/normalizer.h"
#include "reference_tokenizer/regex.h"
#include "reference_tokenizer/unicode.h"

namespace easydata::tokenizers::reference {
namespace {

using nlohmann::json;
using Steps = std::vector<PreTokenizer>;

constexpr const char32_t* kGpt2 =
    U"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

Behavior BehaviorAt(const json& component) {
  static const std::map<std::string, Behavior> kBehaviors = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous}};
  const auto found = kBehaviors.find(StringAt(component, "behavior"));
  if (found == kBehaviors.end()) throw NotCovered("an unknown behavior");
  return found->second;
}

PreTokenizer SplitAt(std::function<bool(char32_t)> predicate, Behavior behavior) {
  return [predicate = std::move(predicate), behavior](const Text& text) {
    return text.Split(CutsOf(text.chars(), predicate), behavior);
  };
}

Steps MakeSplit(const json& component) {
  const auto pattern = MakePattern(component.at("pattern"));
  const Behavior behavior = BehaviorAt(component);
  const bool invert = BoolAt(component, "invert");
  return {[=](const Text& text) {
    std::vector<Cut> cuts = pattern(text.chars());
    for (Cut& cut : cuts) cut.is_match = cut.is_match != invert;
    return text.Split(cuts, behavior);
  }};
}

Steps MakeByteLevel(const json& component) {
  const bool add_prefix_space = BoolAt(component, "add_prefix_space");
  BoolAt(component, "trim_offsets");
  const bool use_regex = !component.contains("use_regex") || BoolAt(component, "use_regex");
  const Normalizer to_alphabet = MakeNormalizer({{"type", "ByteLevel"}});
  const auto gpt2 = std::make_shared<Regex>(kGpt2);
  return {[=](const Text& text) {
    Text piece = text;
    if (add_prefix_space && !piece.chars().starts_with(U" ")) piece.Prepend(U" ");
    std::vector<Text> pieces = {piece};
    if (use_regex) pieces = piece.Split(gpt2->FindAll(piece.chars()), Behavior::kIsolated);
    for (Text& one : pieces) to_alphabet(&one);
    return pieces;
  }};
}

Steps MakeWhitespace() {
  return {[](const Text& text) {
    const Chars& chars = text.chars();
    const auto kind = [&](size_t i) { return IsWord(chars[i]) ? 1 : IsSpace(chars[i]) ? 0 : 2; };
    std::vector<Text> words;
    for (size_t begin = 0, end = 0; begin < chars.size(); begin = end) {
      while (end < chars.size() && kind(end) == kind(begin)) ++end;
      if (kind(begin) != 0) words.push_back(text.Slice(begin, end));
    }
    return words;
  }};
}

Steps MakeMetaspace(const json& component) {
  const Chars replacement = FromUtf8(StringAt(component, "replacement"));
  if (replacement.size() != 1) throw NotCovered("a replacement that is not one character");
  std::string scheme =
      component.contains("prepend_scheme") ? StringAt(component, "prepend_scheme") : "always";
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    throw NotCovered("prepend_scheme " + scheme);
  }
  if (!BoolOr(component, "add_prefix_space", true) && scheme != "never") {
    throw NotCovered("add_prefix_space against prepend_scheme");
  }
  const bool split = BoolOr(component, "split", true);
  return {[=](const Text& text) {
    Text piece = text;
    piece.Replace(CutsOf(piece.chars(), [](char32_t c) { return c == ' '; }), replacement);
    const bool first = scheme == "first" && piece.original_begin() == 0;
    if ((scheme == "always" || first) && !piece.chars().starts_with(replacement)) {
      piece.Prepend(replacement);
    }
    if (!split) return std::vector<Text>{piece};
    const char32_t mark = replacement[0];
    return piece.Split(CutsOf(piece.chars(), [=](char32_t c) { return c == mark; }),
                       Behavior::kMergedWithNext);
  }};
}

Steps MakeUnicodeScripts() {
  return {[](const Text& text) {
    std::optional<int> last;
    std::vector<size_t> begins;
    for (size_t i = 0; i < text.chars().size(); ++i) {
      const int script = ScriptOf(text.chars()[i]);
      if (script == 0) continue;
      if (last != script) begins.push_back(i);
      last = script;
    }
    begins.push_back(text.chars().size());
    std::vector<Text> pieces;  // what stands before the first script is lost
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      pieces.push_back(text.Slice(begins[i], begins[i + 1]));
    }
    return pieces;
  }};
}

Steps MakeFixedLength(const json& component) {
  const size_t length = component.value("length", size_t{5});
  if (length == 0) throw NotCovered("FixedLength of 0");
  return {[=](const Text& text) {
    std::vector<Text> pieces;
    for (size_t i = 0; i < text.chars().size(); i += length) {
      pieces.push_back(text.Slice(i, std::min(i + length, text.chars().size())));
    }
    return pieces;
  }};
}

}  // namespace

Steps MakePreTokenizer(const json& component) {
  if (component.is_null()) return {};
  const std::string type = StringAt(component, "type");
  if (type == "Sequence") {
    Steps steps;
    for (const json& part : component.at("pretokenizers")) {
      for (PreTokenizer& step : MakePreTokenizer(part)) steps.push_back(std::move(step));
    }
    return steps;
  }
  if (type == "Split") return MakeSplit(component);
  if (type == "ByteLevel") return MakeByteLevel(component);
  if (type == "Whitespace") return MakeWhitespace();
  if (type == "Metaspace") return MakeMetaspace(component);
  if (type == "UnicodeScripts") return MakeUnicodeScripts();
  if (type == "FixedLength") return MakeFixedLength(component);
  if (type == "WhitespaceSplit") return {SplitAt(IsSpace, Behavior::kRemoved)};
  if (type == "BertPreTokenizer") {
    return {SplitAt(IsSpace, Behavior::kRemoved), SplitAt(IsPunctuation, Behavior::kIsolated)};
  }
  if (type == "Punctuation") {
    return {SplitAt(IsPunctuation,
                    component.contains("behavior") ? BehaviorAt(component) : Behavior::kIsolated)};
  }
  if (type == "Digits") {
    return {SplitAt(IsNumeric, BoolAt(component, "individual_digits") ? Behavior::kIsolated
                                                                      : Behavior::kContiguous)};
  }
  if (type == "CharDelimiterSplit") {
    const Chars delimiter = FromUtf8(StringAt(component, "delimiter"));
    if (delimiter.size() != 1) throw NotCovered("a delimiter that is not one character");
    return {SplitAt([=](char32_t c) { return c == delimiter[0]; }, Behavior::kRemoved)};
  }
  throw NotCovered("pre-tokenizer " + type);
}

}  // namespace easydata::tokenizers::reference
