#include "easydata/tokenizer/byte_level_split.h"

#include <string_view>
#include <vector>

#include "easydata/tokenizer/component_json.h"

namespace easydata {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view kLlama3Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The steps of a pre_tokenizer, those of Sequences in line; false for what has no such form.
bool Flatten(element component, std::vector<object>* steps) {
  object step;
  if (component.get_object().get(step) != simdjson::SUCCESS) return false;
  if (TypeOf(step) != "Sequence") {
    steps->push_back(step);
    return true;
  }
  const auto list = ArrayAt(step, "pretokenizers", "pre_tokenizer");
  if (!list.ok()) return false;
  for (const element part : *list) {
    if (!Flatten(part, steps)) return false;
  }
  return true;
}

std::optional<SplitPattern> PatternOf(object split) {
  if (TypeOf(split) != "Split") return std::nullopt;
  const auto behavior = StringAt(split, "behavior", "Split");
  const auto invert = BoolOr(split, "invert", true, "Split");
  const auto pattern = ObjectAt(split, "pattern", "Split");
  if (!behavior.ok() || *behavior != "Isolated" || !invert.ok() || *invert || !pattern.ok() ||
      pattern->size() != 1) {
    return std::nullopt;
  }
  const auto regex = StringAt(*pattern, "Regex", "Split");
  if (!regex.ok()) return std::nullopt;
  if (*regex == kLlama3Regex) return SplitPattern::kLlama3;
  if (*regex == kQwen2Regex) return SplitPattern::kQwen2;
  return std::nullopt;
}

}  // namespace

std::optional<ByteLevelSplit> FindByteLevelSplit(element pre_tokenizer) {
  std::vector<object> steps;
  if (!Flatten(pre_tokenizer, &steps) || steps.empty() || steps.size() > 2) return std::nullopt;
  const object last = steps.back();
  if (TypeOf(last) != "ByteLevel") return std::nullopt;
  const auto add_prefix_space = BoolAt(last, "add_prefix_space", "ByteLevel");
  const auto use_regex = BoolOr(last, "use_regex", true, "ByteLevel");
  if (!add_prefix_space.ok() || !use_regex.ok() || !BoolAt(last, "trim_offsets", "").ok()) {
    return std::nullopt;
  }
  if (steps.size() == 1) {
    if (!*use_regex) return std::nullopt;
    return ByteLevelSplit{SplitPattern::kGpt2, *add_prefix_space};
  }
  if (*use_regex || *add_prefix_space) return std::nullopt;
  const std::optional<SplitPattern> pattern = PatternOf(steps.front());
  if (!pattern) return std::nullopt;
  return ByteLevelSplit{*pattern, false};
}

}  // namespace easydata
