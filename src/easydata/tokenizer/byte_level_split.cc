#include "easydata/tokenizer/byte_level_split.h"

#include <vector>

#include "easydata/tokenizer/component_json.h"
#include "easydata/tokenizer/pretokenize/known_patterns.h"

namespace easydata {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

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

}  // namespace

std::optional<ByteLevelSplit> FindByteLevelSplit(element pre_tokenizer) {
  std::vector<object> steps;
  if (!Flatten(pre_tokenizer, &steps) || steps.empty()) return std::nullopt;
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
  const std::optional<KnownSteps> known = FindKnownSteps(steps, 0);
  if (!known || known->count + 1 != steps.size() || *add_prefix_space ||
      *use_regex != known->includes_regex) {
    return std::nullopt;
  }
  return ByteLevelSplit{known->pattern, false};
}

}  // namespace easydata
